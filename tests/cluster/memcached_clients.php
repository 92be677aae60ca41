<?php
// memcached_clients.php -- PHP's Memcached against a server, in both protocols: values, types, numbers, many keys, cas.
// SPDX-License-Identifier: GPL-2.0-only
// usage: memcached_clients.php PORT SIZE_MAX: exit code 1 and a line for each thing that is not as it should be.
[, $port, $size_max] = $argv;
ini_set('memory_limit', '512M');
$wrong = 0;

function want($what, $got, $expected)
{
    global $wrong;
    if ($got === $expected) return;
    $wrong++;
    printf("%s: %s instead of %s\n", $what, substr(var_export($got, true), 0, 100), substr(var_export($expected, true), 0, 100));
}

foreach ([false, true] as $binary) {
    $name = $binary ? 'php-binary' : 'php-text';
    $client = new Memcached();
    $client->setOptions([Memcached::OPT_BINARY_PROTOCOL => $binary, Memcached::OPT_COMPRESSION => false,
        Memcached::OPT_SEND_TIMEOUT => 60000000, Memcached::OPT_RECV_TIMEOUT => 60000000, Memcached::OPT_POLL_TIMEOUT => 60000,
        Memcached::OPT_VERIFY_KEY => true]);
    $client->addServer('127.0.0.1', (int)$port);
    foreach ([0, 1, 100, 2000, 2001, 13951, 100000, 1 << 20, 4 << 20] as $size) {
        if ($size > (int)$size_max) continue;
        $value = $size > 0 ? random_bytes($size) : '';
        want("$name: set of $size bytes", $client->set("b:$name", $value), true);
        want("$name: value of $size bytes", $client->get("b:$name"), $value);
    }
    foreach ([true, 42, -1, 2.5, 'text', ['a' => [1, 2.5, 'three']], "schl\u{fc}ssel \u{9375}"] as $number => $value) {
        $client->set("$name-$number", $value);
        want("$name: a value of type " . gettype($value), $client->get("$name-$number"), $value);
    }
    $long = str_pad($name, 250, 'k');
    want("$name: a key of 250 bytes", $client->set($long, 'long') && $client->get($long) === 'long', true);
    $client->delete($name);
    want("$name: replace of none", $client->replace($name, 'x'), false);
    want("$name: add", $client->add($name, 'one'), true);
    want("$name: add again", $client->add($name, 'two'), false);
    want("$name: append", $client->append($name, '!'), true);
    want("$name: prepend", $client->prepend($name, '>'), true);
    $item = $client->get($name, null, Memcached::GET_EXTENDED);
    want("$name: the value", $item['value'], '>one!');
    want("$name: cas", $client->cas($item['cas'], $name, 'four'), true);
    want("$name: cas of an old number", $client->cas($item['cas'], $name, 'five'), false);
    want("$name: touch of none", $client->touch("$name-none", 100), false);
    $client->set("$name-number", '10');
    want("$name: increment", $client->increment("$name-number", 5), 15);
    want("$name: decrement", $client->decrement("$name-number", 7), 8);
    want("$name: decrement below 0", $client->decrement("$name-number", 100), 0);
    if ($binary) {
        $client->delete("$name-new");
        want("$name: increment that makes it", $client->increment("$name-new", 5, 100), 100);
    }
    $many = [];
    for ($i = 0; $i < 1000; $i++) $many["$name-many-$i"] = "value $i";
    want("$name: setMulti", $client->setMulti($many), true);
    want("$name: getMulti", $client->getMulti(array_keys($many), Memcached::GET_PRESERVE_ORDER), $many);
    $client->quit();
}
echo 'php: ', $wrong === 0 ? 'all is right' : "$wrong things are wrong", "\n";
exit($wrong === 0 ? 0 : 1);
