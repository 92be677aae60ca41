/* test_config_wrong.c -- wrong configurations, each refused with file, line, name and allowed
 * range. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "config/config_parse.h"

#define MGM   "[ndb_mgmd]\n"
#define API   "[mysqld]\n"
#define NODES "[ndbd]\n[ndbd]\n"
#define REST  MGM NODES API

/* One parameter in a default section: the wrong line is line 2. */
#define DB(line) "[ndbd default]\n" line "\n" REST
#define MG(line) "[ndb_mgmd default]\n" line "\n" REST
#define AP(line) "[mysqld default]\n" line "\n" REST
#define TC(line) "[tcp default]\n" line "\n" REST
#define SY(line) "[system]\n" line "\n" REST

struct wrong {
    const char *text;
    const char *message; /* One line of the report, whole. */
};

static const struct wrong wrong[] = {
    /* Form of the file. */
    {"x=1\n" REST,
     "c.ini:1: the line stands before the first section (allowed: inside a [section])"},
    {"[ndbd\n" REST, "c.ini:1: the section name has no closing bracket (allowed: [name])"},
    {"[ndbd] x\n" REST,
     "c.ini:1: text follows the section name (allowed: only [name] on its line)"},
    {DB("DataMemory"), "c.ini:2: [ndbd default]: the line is neither [section] nor name=value"},
    {DB("\n\nDataMemory 5M"),
     "c.ini:4: [ndbd default]: the line is neither [section] nor name=value"},
    {DB("=5M"), "c.ini:2: [ndbd default]: the name before the separator is missing"},
    {DB("DataMemory=\x01"),
     "c.ini:2: [ndbd default]: the line has a control character (allowed: text)"},
    {REST "garbage", "c.ini:5: [mysqld]: the line is neither [section] nor name=value"},
    /* Sections. */
    {REST "[ndbdd]\n",
     "c.ini:5: [ndbdd]: unknown section, did you mean ndbd? (allowed: ndbd or db, "
     "ndb_mgmd or mgm, mysqld, api or ndbapi, tcp, "
     "each also with \"default\", system, computer)"},
    {REST "[]\n", "c.ini:5: the section has no name (allowed: ndbd or db, ndb_mgmd or mgm, mysqld, "
                  "api or ndbapi, tcp, each also "
                  "with \"default\", system, computer)"},
    {REST "[ndbd defaults]\n",
     "c.ini:5: [ndbd defaults]: unknown section (allowed: ndbd or db, "
     "ndb_mgmd or mgm, mysqld, api or ndbapi, tcp, each also with \"default\", system, computer)"},
    {REST "[computer default]\n", "c.ini:5: [computer default]: there are no defaults for "
                                  "computers (allowed: [computer] with Id and HostName)"},
    {REST "[computer x]\n", "c.ini:5: [computer x]: unknown section (allowed: [computer] with Id "
                            "and HostName)"},
    {REST "[computer]\nId=a\nHostName=h\n[computer]\nHostName=i\nId=a\n",
     "c.ini:10: [computer] Id: the [computer] in line 5 has a, too (allowed: one of each)"},
    {REST "ExecuteOnComputer=a\nExecuteOnComputer=b\n[computer]\nId=a\nHostName=h\n"
          "[computer]\nId=b\nHostName=i\n",
     "c.ini:6: [mysqld] ExecuteOnComputer: given twice in this section, first in line 5 (allowed: "
     "once)"},
    {REST "[computer]\nHostName=h\n", "c.ini:5: [computer] Id: it is missing"},
    {REST "[computer]\nId=h\n", "c.ini:5: [computer] HostName: it is missing"},
    {REST "[computer]\nId=a\nHostName=h\nId=b\n",
     "c.ini:8: [computer] Id: given twice in this section"},
    {REST "[computer]\nId=a\nHostName=h\nPort=1\n",
     "c.ini:8: [computer] Port: unknown parameter (allowed: Id, HostName)"},
    {DB("ExecuteOnComputer=a"), "c.ini:2: [ndbd] ExecuteOnComputer: it belongs to one section and "
                                "cannot be a default"},
    {REST "ExecuteOnComputer=a\n", "c.ini:5: [mysqld] ExecuteOnComputer: there is no [computer] "
                                   "with Id=a and a HostName (or give the node's HostName)"},
    {REST "HostName=x\nExecuteOnComputer=a\n[computer]\nId=a\nHostName=h\n",
     "c.ini:6: [mysqld] ExecuteOnComputer: HostName is given too (allowed: one of them)"},
    {REST "[system default]\n",
     "c.ini:5: [system default]: unknown section (allowed: ndbd or db, "
     "ndb_mgmd or mgm, mysqld, api or ndbapi, tcp, each also with \"default\", system, computer)"},
    {"[ndbd default]\n[db default]\n" REST, "c.ini:2: [db default]: second default section of this "
                                            "kind, the first is in line 1 (allowed: one)"},
    {"[system]\n[system]\n" REST,
     "c.ini:2: [system]: second section of this name, the first is in line 1 (allowed: one)"},
    {"", "c.ini: [ndbd]: the section is missing: at least one is needed (allowed range 1..144)"},
    {MGM API,
     "c.ini: [ndbd]: the section is missing: at least one is needed (allowed range 1..144)"},
    {NODES API,
     "c.ini: [ndb_mgmd]: the section is missing: at least one is needed (allowed range 1..255)"},
    {MGM NODES,
     "c.ini: [mysqld]: the section is missing: at least one is needed (allowed range 1..255)"},
    /* Names. */
    {DB("DataMemori=5M"),
     "c.ini:2: [ndbd] DataMemori: unknown parameter, did you mean DataMemory?"},
    {DB("datamem=5M"), "c.ini:2: [ndbd] datamem: unknown parameter, did you mean DataMemory?"},
    {DB("Xyzzy=1"), "c.ini:2: [ndbd] Xyzzy: unknown parameter"},
    {DB("IndexMemor=1M"),
     "c.ini:2: [ndbd] IndexMemor: unknown parameter, did you mean IndexMemory?"},
    {SY("IndexMemory=1M"),
     "c.ini:2: [system] IndexMemory: unknown parameter of this section, it belongs to [ndbd]"},
    {DB("PortNumber=1"),
     "c.ini:2: [ndbd] PortNumber: unknown parameter of this section, it belongs to [ndb_mgmd]"},
    {DB("BatchSize=1"),
     "c.ini:2: [ndbd] BatchSize: unknown parameter of this section, it belongs to [mysqld]"},
    {MG("DataMemory=1M"),
     "c.ini:2: [ndb_mgmd] DataMemory: unknown parameter of this section, it belongs to [ndbd]"},
    {AP("NoOfReplicas=1"),
     "c.ini:2: [mysqld] NoOfReplicas: unknown parameter of this section, it belongs to [ndbd]"},
    {TC("SendBuferMemory=1M"),
     "c.ini:2: [tcp] SendBuferMemory: unknown parameter, did you mean SendBufferMemory?"},
    {SY("Nam=a"), "c.ini:2: [system] Nam: unknown parameter, did you mean Name?"},
    {DB("EncryptedFileSystem=1"),
     "c.ini:2: [ndbd] EncryptedFileSystem: it is not supported: files are not encrypted; use an "
     "encrypted file system below FileSystemPath"},
    {DB("FragmentLogFileSize=4194305"),
     "c.ini:2: [ndbd] FragmentLogFileSize: 4194305 is no multiple of 4096 (allowed: whole pages, "
     "range 4M..1G bytes)"},
    {DB("NoOfFragmentLogFiles=2"),
     "c.ini:2: [ndbd] NoOfFragmentLogFiles: value 2 is out of range (allowed range 3..256 "
     "files)"},
    {DB("MinDiskWriteSpeed=2M\nMaxDiskWriteSpeed=1M"),
     "c.ini:2: [ndbd] MinDiskWriteSpeed: it is above MaxDiskWriteSpeed (allowed range "
     "1M..MaxDiskWriteSpeed)"},
    {DB("DataMemory=5M\ndatamemory=6M"),
     "c.ini:3: [ndbd] DataMemory: given twice in this section, first in line 2 (allowed: once)"},
    {DB("NodeId=5"), "c.ini:2: [ndbd] NodeId: it belongs to one section and cannot be a default"},
    {TC("NodeId1=5"), "c.ini:2: [tcp] NodeId1: it belongs to one section and cannot be a default"},
    /* Node ids. */
    {REST "[ndbd]\nNodeId=0\n",
     "c.ini:6: [ndbd] NodeId: value 0 is out of range (allowed range 1..144)"},
    {REST "[ndbd]\nNodeId=145\n",
     "c.ini:6: [ndbd] NodeId: value 145 is out of range (allowed range 1..144)"},
    {REST "[ndbd]\nNodeId=-1\n",
     "c.ini:6: [ndbd] NodeId: value \"-1\" is not a number (allowed range 1..144)"},
    {REST "[ndbd]\nNodeId=one\n",
     "c.ini:6: [ndbd] NodeId: value \"one\" is not a number (allowed range 1..144)"},
    {REST "[ndbd]\nNodeId=\n",
     "c.ini:6: [ndbd] NodeId: value \"\" is not a number (allowed range 1..144)"},
    {REST "[api]\nNodeId=256\n",
     "c.ini:6: [mysqld] NodeId: value 256 is out of range (allowed range 1..255)"},
    {REST "[mgm]\nNodeId=0\n",
     "c.ini:6: [ndb_mgmd] NodeId: value 0 is out of range (allowed range 1..255)"},
    {"[ndbd]\nNodeId=3\n[ndbd]\nNodeId=3\n" MGM API,
     "c.ini:4: [ndbd] NodeId: 3 is already used in line 2 (allowed: a free id, range 1..144)"},
    {"[ndbd]\nNodeId=3\n[ndbd]\n[mgm]\nNodeId=3\n" API,
     "c.ini:5: [ndb_mgmd] NodeId: 3 is already used in line 2 (allowed: a free id, range 1..255)"},
    /* Numbers of data nodes. */
    {DB("DataMemory=0"),
     "c.ini:2: [ndbd] DataMemory: value 0 is out of range (allowed range 1M..16384G bytes)"},
    {DB("DataMemory=1023K"),
     "c.ini:2: [ndbd] DataMemory: value 1023K is out of range (allowed range 1M..16384G bytes)"},
    {DB("DataMemory=16385G"),
     "c.ini:2: [ndbd] DataMemory: value 16385G is out of range (allowed range 1M..16384G bytes)"},
    {DB("DataMemory=5T"),
     "c.ini:2: [ndbd] DataMemory: value \"5T\" is not a number (allowed range 1M..16384G bytes)"},
    {DB("DataMemory=5MB"),
     "c.ini:2: [ndbd] DataMemory: value \"5MB\" is not a number (allowed range 1M..16384G bytes)"},
    {DB("DataMemory=5 M"),
     "c.ini:2: [ndbd] DataMemory: value \"5 M\" is not a number (allowed range 1M..16384G bytes)"},
    {DB("DataMemory=0x"),
     "c.ini:2: [ndbd] DataMemory: value \"0x\" is not a number (allowed range 1M..16384G bytes)"},
    {DB("DataMemory=08"),
     "c.ini:2: [ndbd] DataMemory: value \"08\" is not a number (allowed range 1M..16384G bytes)"},
    {DB("DataMemory=99999999999999999999"),
     "c.ini:2: [ndbd] DataMemory: value \"99999999999999999999\" is not a number (allowed range "
     "1M..16384G bytes)"},
    {DB("DataMemory=18446744073709551615K"),
     "c.ini:2: [ndbd] DataMemory: value \"18446744073709551615K\" is not a number (allowed range "
     "1M..16384G bytes)"},
    {DB("DataMemory=1.5G"),
     "c.ini:2: [ndbd] DataMemory: value \"1.5G\" is not a number (allowed range 1M..16384G bytes)"},
    {DB("TransactionMemory=16385G"), "c.ini:2: [ndbd] TransactionMemory: value 16385G is out of "
                                     "range (allowed range 0..16384G bytes)"},
    {DB("SharedGlobalMemory=65537G"), "c.ini:2: [ndbd] SharedGlobalMemory: value 65537G is out of "
                                      "range (allowed range 0..65536G bytes)"},
    {DB("LongMessageBuffer=511K"), "c.ini:2: [ndbd] LongMessageBuffer: value 511K is out of range "
                                   "(allowed range 512K..4294967039 bytes)"},
    {DB("LongMessageBuffer=4G"), "c.ini:2: [ndbd] LongMessageBuffer: value 4G is out of range "
                                 "(allowed range 512K..4294967039 bytes)"},
    {DB("LockPagesInMainMemory=3"),
     "c.ini:2: [ndbd] LockPagesInMainMemory: value 3 is out of range (allowed range 0..2)"},
    {DB("MaxNoOfTables=7"),
     "c.ini:2: [ndbd] MaxNoOfTables: value 7 is out of range (allowed range 8..20320 objects)"},
    {DB("MaxNoOfTables=20321"),
     "c.ini:2: [ndbd] MaxNoOfTables: value 20321 is out of range (allowed range 8..20320 objects)"},
    {DB("MaxNoOfAttributes=31"), "c.ini:2: [ndbd] MaxNoOfAttributes: value 31 is out of range "
                                 "(allowed range 32..4294967039 objects)"},
    {DB("DefaultHashmapSize=3841"), "c.ini:2: [ndbd] DefaultHashmapSize: value 3841 is out of "
                                    "range (allowed range 0..3840 buckets)"},
    {DB("PartitionsPerNode=0"),
     "c.ini:2: [ndbd] PartitionsPerNode: value 0 is out of range (allowed range 1..32 fragments)"},
    {DB("NoOfReplicas=0"),
     "c.ini:2: [ndbd] NoOfReplicas: value 0 is out of range (allowed range 1..4 copies)"},
    {DB("NoOfReplicas=5"),
     "c.ini:2: [ndbd] NoOfReplicas: value 5 is out of range (allowed range 1..4 copies)"},
    {DB("Nodegroup=65537"),
     "c.ini:2: [ndbd] Nodegroup: value 65537 is out of range (allowed range 0..65536)"},
    {DB("ServerPort=0"),
     "c.ini:2: [ndbd] ServerPort: value 0 is out of range (allowed range 1..65535)"},
    {DB("ServerPort=65536"),
     "c.ini:2: [ndbd] ServerPort: value 65536 is out of range (allowed range 1..65535)"},
    {DB("LocationDomainId=17"),
     "c.ini:2: [ndbd] LocationDomainId: value 17 is out of range (allowed range 0..16)"},
    {DB("MaxNoOfConcurrentTransactions=31"),
     "c.ini:2: [ndbd] MaxNoOfConcurrentTransactions: value 31 is out of range (allowed range "
     "32..4294967039 records)"},
    {DB("MaxNoOfConcurrentOperations=31"),
     "c.ini:2: [ndbd] MaxNoOfConcurrentOperations: value 31 is out of range (allowed range "
     "32..4294967039 records)"},
    {DB("MaxNoOfConcurrentScans=1"), "c.ini:2: [ndbd] MaxNoOfConcurrentScans: value 1 is out of "
                                     "range (allowed range 2..500 scans)"},
    {DB("MaxNoOfConcurrentScans=501"), "c.ini:2: [ndbd] MaxNoOfConcurrentScans: value 501 is out "
                                       "of range (allowed range 2..500 scans)"},
    {DB("BatchSizePerLocalScan=993"), "c.ini:2: [ndbd] BatchSizePerLocalScan: value 993 is out of "
                                      "range (allowed range 1..992 rows)"},
    {DB("TransactionDeadlockDetectionTimeout=49"),
     "c.ini:2: [ndbd] TransactionDeadlockDetectionTimeout: value 49 is out of range (allowed range "
     "50..4294967039 ms)"},
    {DB("TimeBetweenInactiveTransactionAbortCheck=999"),
     "c.ini:2: [ndbd] TimeBetweenInactiveTransactionAbortCheck: value 999 is out of range (allowed "
     "range 1000..4294967039 ms)"},
    {DB("HeartbeatIntervalDbDb=9"), "c.ini:2: [ndbd] HeartbeatIntervalDbDb: value 9 is out of "
                                    "range (allowed range 10..4294967039 ms)"},
    {DB("HeartbeatIntervalDbApi=99"), "c.ini:2: [ndbd] HeartbeatIntervalDbApi: value 99 is out of "
                                      "range (allowed range 100..4294967039 ms)"},
    {DB("HeartbeatOrder=65536"),
     "c.ini:2: [ndbd] HeartbeatOrder: value 65536 is out of range (allowed range 0..65535)"},
    {DB("ArbitrationTimeout=9"), "c.ini:2: [ndbd] ArbitrationTimeout: value 9 is out of range "
                                 "(allowed range 10..4294967039 ms)"},
    {DB("Arbitration=Sometimes"), "c.ini:2: [ndbd] Arbitration: value \"Sometimes\" is unknown "
                                  "(allowed: Disabled, Default, WaitExternal)"},
    {DB("Arbitration=1"), "c.ini:2: [ndbd] Arbitration: value \"1\" is unknown (allowed: Disabled, "
                          "Default, WaitExternal)"},
    {DB("TimeBetweenWatchDogCheck=69"), "c.ini:2: [ndbd] TimeBetweenWatchDogCheck: value 69 is out "
                                        "of range (allowed range 70..4294967039 ms)"},
    {DB("StopOnError=maybe"), "c.ini:2: [ndbd] StopOnError: value \"maybe\" is neither true nor "
                              "false (allowed: true, false)"},
    {DB("Diskless=2"),
     "c.ini:2: [ndbd] Diskless: value \"2\" is neither true nor false (allowed: true, false)"},
    {DB("MaxNoOfExecutionThreads=1"), "c.ini:2: [ndbd] MaxNoOfExecutionThreads: value 1 is out of "
                                      "range (allowed range 2..72 threads)"},
    {DB("MaxNoOfExecutionThreads=73"), "c.ini:2: [ndbd] MaxNoOfExecutionThreads: value 73 is out "
                                       "of range (allowed range 2..72 threads)"},
    {DB("NumCPUs=1025"),
     "c.ini:2: [ndbd] NumCPUs: value 1025 is out of range (allowed range 0..1024 CPUs)"},
    {DB("SchedulerSpinTimer=501"),
     "c.ini:2: [ndbd] SchedulerSpinTimer: value 501 is out of range (allowed range 0..500 us)"},
    {DB("LogLevelStartup=16"),
     "c.ini:2: [ndbd] LogLevelStartup: value 16 is out of range (allowed range 0..15)"},
    {DB("EventLogBufferSize=65K"),
     "c.ini:2: [ndbd] EventLogBufferSize: value 65K is out of range (allowed range 0..64K bytes)"},
    {DB("TotalSendBufferMemory=255K"), "c.ini:2: [ndbd] TotalSendBufferMemory: value 255K is out "
                                       "of range (allowed range 256K..4294967039 bytes)"},
    /* Management servers, clients, links, system. */
    {MG("PortNumber=65536"),
     "c.ini:2: [ndb_mgmd] PortNumber: value 65536 is out of range (allowed range 0..65535)"},
    {MG("ArbitrationRank=3"),
     "c.ini:2: [ndb_mgmd] ArbitrationRank: value 3 is out of range (allowed range 0..2)"},
    {MG("HeartbeatIntervalMgmdMgmd=99"), "c.ini:2: [ndb_mgmd] HeartbeatIntervalMgmdMgmd: value 99 "
                                         "is out of range (allowed range 100..4294967039 ms)"},
    {AP("ArbitrationRank=first"),
     "c.ini:2: [mysqld] ArbitrationRank: value \"first\" is not a number (allowed range 0..2)"},
    {AP("BatchSize=0"),
     "c.ini:2: [mysqld] BatchSize: value 0 is out of range (allowed range 1..992 rows)"},
    {AP("BatchByteSize=1023"),
     "c.ini:2: [mysqld] BatchByteSize: value 1023 is out of range (allowed range 1K..1M bytes)"},
    {AP("MaxScanBatchSize=17M"), "c.ini:2: [mysqld] MaxScanBatchSize: value 17M is out of range "
                                 "(allowed range 32K..16M bytes)"},
    {TC("SendBufferMemory=63K"), "c.ini:2: [tcp] SendBufferMemory: value 63K is out of range "
                                 "(allowed range 64K..4294967039 bytes)"},
    {TC("ReceiveBufferMemory=15K"), "c.ini:2: [tcp] ReceiveBufferMemory: value 15K is out of range "
                                    "(allowed range 16K..4294967039 bytes)"},
    {TC("TCP_SND_BUF_SIZE=3G"),
     "c.ini:2: [tcp] TCP_SND_BUF_SIZE: value 3G is out of range (allowed range 0..2G bytes)"},
    {TC("PreferIPVersion=7"),
     "c.ini:2: [tcp] PreferIPVersion: value 7 is out of range (allowed range 4..6)"},
    {TC("PreferIPVersion=5"), "c.ini:2: [tcp] PreferIPVersion: 5 is no IP version (allowed: 4, 6)"},
    {TC("OverloadLimit=3M"),
     "c.ini:2: [tcp] OverloadLimit: it is above SendBufferMemory (allowed range 0..2M bytes)"},
    {REST "[tcp]\nNodeId1=1\n", "c.ini:5: [tcp] NodeId2: it is missing (allowed range 1..255)"},
    {REST "[tcp]\nNodeId1=1\nNodeId2=99\n",
     "c.ini:5: [tcp] NodeId2: there is no node 99 (allowed: the id of a node)"},
    {REST "[tcp]\nNodeId1=1\nNodeId2=999\n",
     "c.ini:7: [tcp] NodeId2: value 999 is out of range (allowed range 1..255)"},
    {REST "[tcp]\nNodeId1=1\nNodeId2=1\n",
     "c.ini:5: [tcp] NodeId2: the link between 1 and 1 cannot be added: equal ends, or given twice "
     "(allowed: each pair of nodes once)"},
    {REST "[tcp]\nNodeId1=2\nNodeId2=3\n[tcp]\nNodeId1=3\nNodeId2=2\n",
     "c.ini:8: [tcp] NodeId2: the link between 3 and 2 cannot be added: equal ends, or given twice "
     "(allowed: each pair of nodes once)"},
    {REST API "[tcp]\nNodeId1=4\nNodeId2=5\n",
     "c.ini:6: [tcp] NodeId2: nodes 4 and 5 are both clients (allowed: one end is a data or "
     "management node)"},
    {SY("Name=a b"),
     "c.ini:2: [system] Name: \"a b\" has a wrong character (allowed: letters, digits, . _ -)"},
    {SY("PrimaryMGMNode=2"), "c.ini:2: [system] PrimaryMGMNode: node 2 is no management server "
                             "(allowed: 0 or the id of one)"},
    {SY("Name=0123456789012345678901234567890123456789012345678901234567890123"),
     "c.ini:2: [system] Name: value of 64 characters is too long (allowed range 0..63 characters)"},
    /* Rules between parameters and nodes. */
    {MGM "[ndbd]\nNoOfReplicas=1\n[ndbd]\nNoOfReplicas=2\n" API,
     "c.ini:5: [ndbd] NoOfReplicas: 2 differs from node 2 (allowed: 1, the same for all data "
     "nodes)"},
    {MGM "[ndbd]\n" API, "c.ini:2: [ndbd] Nodegroup: node group 0 has 1 nodes (allowed: 2, one for "
                         "each of NoOfReplicas)"},
    {REST "[ndbd]\n", "c.ini:5: [ndbd] Nodegroup: node group 1 has 1 nodes (allowed: 2, one for "
                      "each of NoOfReplicas)"},
    {MGM "[ndbd]\nNodegroup=0\n[ndbd]\nNodegroup=1\n" API,
     "c.ini:3: [ndbd] Nodegroup: node group 0 has 1 nodes (allowed: 2, one for each of "
     "NoOfReplicas)"},
    {DB("Nodegroup=72"), "c.ini:2: [ndbd] Nodegroup: node group 72 is too high (allowed range "
                         "0..71, or 65536 for none)"},
    {DB("Nodegroup=1"), "c.ini:2: [ndbd] Nodegroup: no node belongs to node group 0 (allowed: "
                        "groups are numbered from 0)"},
    {DB("HostName=bad host"),
     "c.ini:2: [ndbd] HostName: \"bad host\" is no host name (allowed: letters, digits, . - _ :)"},
    {DB("HostName=-x"),
     "c.ini:2: [ndbd] HostName: \"-x\" is no host name (allowed: letters, digits, . - _ :)"},
    {MGM "[ndbd]\nHostName=db1\n[ndbd]\nHostName=localhost\n" API,
     "c.ini:5: [ndbd] HostName: \"localhost\" is this machine only, but node 2 is on \"db1\" "
     "(allowed: loopback names for all nodes or for none)"},
    {MG("HostName=localhost") MGM,
     "c.ini:7: [ndb_mgmd] PortNumber: port 1186 on \"localhost\" is already used by node 1 "
     "(allowed: another port, range 1..65535)"},
    {DB("ServerPort=5000"), "c.ini:2: [ndbd] ServerPort: port 5000 on \"localhost\" is already "
                            "used by node 2 (allowed: another port, range 1..65535)"},
    {DB("MaxNoOfConcurrentOperations=4095"),
     "c.ini:2: [ndbd] MaxNoOfConcurrentOperations: 4095 is below MaxNoOfConcurrentTransactions "
     "(allowed range 4096..4294967039)"},
    {DB("MaxDMLOperationsPerTransaction=32769"),
     "c.ini:2: [ndbd] MaxDMLOperationsPerTransaction: 32769 is above MaxNoOfConcurrentOperations "
     "(allowed range 32..32768)"},
    {DB("MaxStartFailRetries=4"),
     "c.ini:2: [ndbd] MaxStartFailRetries: it has no effect while StopOnError is on (allowed: 3)"},
    {DB("StartFailRetryDelay=4"),
     "c.ini:2: [ndbd] StartFailRetryDelay: it has no effect while StopOnError is on (allowed: 0)"},
    {DB("HeartbeatOrder=1"), "c.ini:2: [ndbd] HeartbeatOrder: 1 is also the rank of node 2 "
                             "(allowed range 1..65535, all different)"},
    {MGM "[ndbd]\nHeartbeatOrder=1\n[ndbd]\n" API,
     "c.ini:4: [ndbd] HeartbeatOrder: node 3 has no rank but node 2 has one (allowed range "
     "1..65535 for all nodes, or 0 for all)"},
    /* Thread layouts. */
    {DB("ThreadConfig=ldm,"),
     "c.ini:2: [ndbd] ThreadConfig: an entry is missing after the last comma"},
    {DB("ThreadConfig=cpu"), "c.ini:2: [ndbd] ThreadConfig: unknown thread kind cpu (allowed: "
                             "main, rep, ldm, tc, recv, send, io, watchdog)"},
    {DB("ThreadConfig=ldm={count=333}"),
     "c.ini:2: [ndbd] ThreadConfig: count is out of range (allowed range 0..332)"},
    {DB("ThreadConfig=main,main"),
     "c.ini:2: [ndbd] ThreadConfig: 2 threads of kind main (allowed range 0..1)"},
    {DB("ThreadConfig=recv={count=0}"),
     "c.ini:2: [ndbd] ThreadConfig: count is out of range (allowed range 1..80)"},
    {DB("ThreadConfig=ldm={count=2"), "c.ini:2: [ndbd] ThreadConfig: ldm needs } at \"\""},
    {DB("ThreadConfig=ldm=count"), "c.ini:2: [ndbd] ThreadConfig: ldm needs { after ="},
    {DB("ThreadConfig=ldm={count}"), "c.ini:2: [ndbd] ThreadConfig: count needs = and a value"},
    {DB("ThreadConfig=ldm={cpubind=1024}"),
     "c.ini:2: [ndbd] ThreadConfig: cpubind is out of range (allowed range 0..1023)"},
    {DB("ThreadConfig=ldm={cpubind=3-1}"),
     "c.ini:2: [ndbd] ThreadConfig: cpubind is out of range (allowed range 3..1023)"},
    {DB("ThreadConfig=ldm={count=2,cpubind=1}"),
     "c.ini:2: [ndbd] ThreadConfig: ldm: cpubind has 1 CPUs for 2 threads"},
    {DB("ThreadConfig=ldm={cpubind=1,cpuset=2}"),
     "c.ini:2: [ndbd] ThreadConfig: cpuset: only one list of CPUs is allowed per entry"},
    {DB("ThreadConfig=io={spintime=2}"),
     "c.ini:2: [ndbd] ThreadConfig: spintime is not allowed for io"},
    {DB("ThreadConfig=send={nosend=1}"),
     "c.ini:2: [ndbd] ThreadConfig: nosend is not allowed for send"},
    {DB("ThreadConfig=tc={realtime=1,thread_prio=1}"),
     "c.ini:2: [ndbd] ThreadConfig: tc: realtime and thread_prio exclude each other"},
    {DB("ThreadConfig=main={count=0},rep"), "c.ini:2: [ndbd] ThreadConfig: rep needs main"},
    {DB("ThreadConfig=ldm={speed=1}"),
     "c.ini:2: [ndbd] ThreadConfig: unknown setting speed (allowed: count, cpubind, "
     "cpubind_exclusive, cpuset, cpuset_exclusive, realtime, spintime, thread_prio, nosend)"},
    /* Log destinations. */
    {MG("LogDestination=PAPER"),
     "c.ini:2: [ndb_mgmd] LogDestination: unknown target PAPER (allowed: CONSOLE, SYSLOG, FILE)"},
    {MG("LogDestination=FILE:size=3"),
     "c.ini:2: [ndb_mgmd] LogDestination: unknown key size (allowed: filename, maxsize, maxfiles)"},
    {MG("LogDestination=FILE:maxsize=1"),
     "c.ini:2: [ndb_mgmd] LogDestination: maxsize=1 is wrong (allowed range 4K..1024G bytes)"},
    {MG("LogDestination=FILE:maxfiles=0"),
     "c.ini:2: [ndb_mgmd] LogDestination: maxfiles=0 is wrong (allowed range 1..1000)"},
    {MG("LogDestination=CONSOLE:a=b"), "c.ini:2: [ndb_mgmd] LogDestination: CONSOLE takes no keys"},
    {MG("LogDestination=SYSLOG:facility=moon"),
     "c.ini:2: [ndb_mgmd] LogDestination: unknown facility moon (allowed: auth authpriv cron "
     "daemon ftp kern lpr mail news syslog user uucp local0 local1 local2 local3 local4 local5 "
     "local6 local7)"},
    {MG("LogDestination=FILE:filename"),
     "c.ini:2: [ndb_mgmd] LogDestination: \"filename\" is not key=value"},
};

static void each_is_refused(void **unused)
{
    uint32_t failed = 0;

    (void)unused;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct config_report report = {.lines = NULL};
        struct cluster_config *config =
            config_parse_text(wrong[i].text, strlen(wrong[i].text), "c.ini", &report);
        uint32_t found = 0;
        for (uint32_t j = 0; j < report.count; j++) {
            found += strcmp(report.lines[j].text, wrong[i].message) == 0;
        }
        if (config != NULL || found == 0) {
            failed++;
            print_error("case %zu: %s\n  wanted: %s\n", i, config == NULL ? "refused" : "accepted",
                        wrong[i].message);
            for (uint32_t j = 0; j < report.count; j++)
                print_error("  got:    %s\n", report.lines[j].text);
        }
        config_free(config);
        config_report_clear(&report);
    }
    assert_int_equal(failed, 0);
    assert_true(sizeof(wrong) / sizeof(wrong[0]) >= 100);
}

/* Every number has its two neighbours outside the range refused, and both ends accepted. */
static void each_range_holds(void **unused)
{
    uint32_t count;
    const struct config_param *params = config_params(&count);

    (void)unused;
    for (uint32_t i = 0; i < count; i++) {
        char text[64];
        char why[128];
        uint64_t value;
        const struct config_param *param = &params[i];
        if (param->type != CONFIG_INT && param->type != CONFIG_INT64) continue;
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)param->min);
        assert_int_equal(config_value_parse(param, text, &value, why, sizeof(why)), 0);
        assert_true(value == param->min);
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)param->max);
        assert_int_equal(config_value_parse(param, text, &value, why, sizeof(why)), 0);
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)param->max + 1);
        assert_int_equal(config_value_parse(param, text, &value, why, sizeof(why)), -1);
        if (param->min == 0) continue;
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)param->min - 1);
        assert_int_equal(config_value_parse(param, text, &value, why, sizeof(why)), -1);
    }
}

static void long_lines_and_files_are_refused(void **unused)
{
    static char text[CONFIG_FILE_SIZE_MAX + 2];
    struct config_report report = {.lines = NULL};

    (void)unused;
    memset(text, 'a', 2000);
    memcpy(text, "[ndbd]\nDataDir=", 15);
    assert_null(config_parse_text(text, 2000, "c.ini", &report));
    assert_string_equal(report.lines[0].text,
                        "c.ini:2: [ndbd]: the line is too long (allowed range 0..1500 characters)");
    config_report_clear(&report);
    memset(text, '\n', sizeof(text));
    assert_null(config_parse_text(text, sizeof(text), "c.ini", &report));
    assert_string_equal(report.lines[0].text,
                        "c.ini: the file is too large (allowed range 0..1M bytes)");
    config_report_clear(&report);
    assert_null(config_parse_file("/nonexistent/c.ini", &report));
    assert_string_equal(report.lines[0].text,
                        "/nonexistent/c.ini: the file cannot be opened: No such file or directory");
    config_report_clear(&report);
}

static void all_errors_of_a_file_are_told(void **unused)
{
    static const char text[] = "[ndbd default]\nDataMemory=x\nNoOfReplicas=9\nFoo=1\n" REST;
    struct config_report report = {.lines = NULL};

    (void)unused;
    assert_null(config_parse_text(text, strlen(text), "c.ini", &report));
    assert_int_equal(report.errors, 3);
    config_report_clear(&report);
}

/* A program, say, given by mistake: one line, and not one for each of its own. */
static void what_is_no_text_is_told_once(void **unused)
{
    static const char text[] = "\177ELF\n=\n=\n\0=\n=\n";
    struct config_report report = {.lines = NULL};

    (void)unused;
    assert_null(config_parse_text(text, sizeof(text) - 1, "c.ini", &report));
    assert_int_equal(report.count, 1);
    assert_string_equal(report.lines[0].text,
                        "c.ini: the file has bytes of value 0: it is no text (allowed: text)");
    config_report_clear(&report);
}

/* What the file's form, its names, its values and the rules between them say comes in the order of
 * its lines. */
static void errors_come_in_the_order_of_the_lines(void **unused)
{
    static const char text[] = "[ndbd default]\nNoOfReplicas=9\nFoo=1\ngarbage\nDataMemory=x\n"
                               "[ndb_mgd]\n" NODES API "[ndbd]\nNodeId=1\n[ndbd]\nNodeId=1\n";
    static const char *const begins[] = {"c.ini:2: [ndbd] NoOfReplicas",
                                         "c.ini:3: [ndbd] Foo",
                                         "c.ini:4: [ndbd default]: the line is",
                                         "c.ini:5: [ndbd] DataMemory",
                                         ("c.ini:6: [ndb_mgd]: unknown section, did you mean "
                                          "ndb_mgmd?"),
                                         "c.ini:13: [ndbd] NodeId"};
    struct config_report report = {.lines = NULL};

    (void)unused;
    assert_null(config_parse_text(text, strlen(text), "c.ini", &report));
    for (uint32_t i = 0; i < report.count; i++)
        print_message("%s\n", report.lines[i].text);
    assert_int_equal(report.count, sizeof(begins) / sizeof(begins[0]));
    for (uint32_t i = 0; i < report.count; i++)
        assert_memory_equal(report.lines[i].text, begins[i], strlen(begins[i]));
    config_report_clear(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_refused),
        cmocka_unit_test(each_range_holds),
        cmocka_unit_test(long_lines_and_files_are_refused),
        cmocka_unit_test(all_errors_of_a_file_are_told),
        cmocka_unit_test(what_is_no_text_is_told_once),
        cmocka_unit_test(errors_come_in_the_order_of_the_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
