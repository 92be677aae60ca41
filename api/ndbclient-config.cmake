# ndbclient-config.cmake -- find_package(ndbclient): ndb::ndbclient, which needs nothing else, and ndb::ndbclient_static.
# SPDX-License-Identifier: MIT
include(${CMAKE_CURRENT_LIST_DIR}/ndbclient-shared.cmake)

# The static library brings libuv and xxhash along, which a program with the shared one need not have for development.
if(NOT TARGET ndb::ndbclient_static)
    find_package(Threads QUIET)
    find_package(PkgConfig QUIET)
    if(PKG_CONFIG_FOUND AND NOT TARGET PkgConfig::NDBCLIENT_STATIC)
        pkg_check_modules(NDBCLIENT_STATIC QUIET IMPORTED_TARGET GLOBAL libuv libxxhash)
    endif()
    if(TARGET PkgConfig::NDBCLIENT_STATIC AND TARGET Threads::Threads)
        include(${CMAKE_CURRENT_LIST_DIR}/ndbclient-static.cmake)
    elseif(NOT ndbclient_FIND_QUIETLY)
        message(STATUS "ndbclient: no ndb::ndbclient_static, for which pkg-config has to find libuv and libxxhash")
    endif()
endif()
