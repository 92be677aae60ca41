#!/usr/bin/perl
# memcached_clients.pl -- Cache::Memcached::Fast against a server: values of all sizes and kinds, odd keys, all commands.
# SPDX-License-Identifier: GPL-2.0-only
# usage: memcached_clients.pl PORT SIZE_MAX: exit code 1 and a line for each thing that is not as it should be.
use strict;
use warnings;
use utf8;
use Cache::Memcached::Fast;

my ($port, $size_max) = @ARGV;
my $wrong = 0;
binmode STDOUT, ':encoding(UTF-8)';

sub want {
    my ($what, $got, $expected) = @_;
    return if defined $got == defined $expected && (!defined $got || $got eq $expected);
    $wrong++;
    printf "%s: %s instead of %s\n", $what, map { defined $_ ? substr($_, 0, 100) : 'nothing' } $got, $expected;
}

my $client = Cache::Memcached::Fast->new({
    servers => ["127.0.0.1:$port"], utf8 => 1, connect_timeout => 60, io_timeout => 60, max_size => 8 << 20, compress_threshold => -1
});

my @sizes = grep { $_ <= $size_max } (0, 1, 100, 1999, 2000, 2001, 13499, 13950, 13951, 100_000, 1 << 20, 4 << 20);
for my $size (@sizes, reverse @sizes) {
    my $value = join '', map { chr(($_ * 7 + $size) % 256) } 1 .. ($size < 1000 ? $size : 1000);
    $value = substr $value x (1 + $size / 1000), 0, $size;
    utf8::downgrade($value);
    want("set of $size bytes", $client->set('b:perl-value', $value), 1);
    want("value of $size bytes", $client->get('b:perl-value'), $value);
}
my $packed = Cache::Memcached::Fast->new({servers => ["127.0.0.1:$port"], connect_timeout => 60, io_timeout => 60,
    compress_threshold => 1000});
$packed->set('perl-packed', 'again and again ' x 800);
want('a compressed value', $packed->get('perl-packed'), 'again and again ' x 800);
$client->set('perl-object', {a => [1, 2.5, 'three']});
want('an object', join(' ', @{$client->get('perl-object')->{a}}), '1 2.5 three');
$client->set('perl-text', 'schlüssel ключ 鍵');
want('a text', $client->get('perl-text'), 'schlüssel ключ 鍵');

for my $key ('perl-schlüssel', 'ключ', '鍵', 'k' x 250) {
    my $bytes = $key;
    utf8::encode($bytes);
    want("set of key $key", $client->set($bytes, "value of $key"), 1);
    want("key $key", $client->get($bytes), "value of $key");
    want("delete of key $key", $client->delete($bytes), 1);
    want("deleted key $key", $client->get($bytes), undef);
}

$client->delete('perl');
want('replace of none', $client->replace('perl', 'x'), '');
want('add', $client->add('perl', 'one'), 1);
want('add again', $client->add('perl', 'two'), '');
want('replace', $client->replace('perl', 'three'), 1);
want('append', $client->append('perl', '!'), 1);
want('prepend', $client->prepend('perl', '>'), 1);
want('the value', $client->get('perl'), '>three!');
my $pair = $client->gets('perl');
want('cas', $client->cas('perl', $pair->[0], 'four'), 1);
want('cas of an old number', $client->cas('perl', $pair->[0], 'five'), '');
want('the value after cas', $client->get('perl'), 'four');
want('cas of none', $client->cas('perl-none', 1, 'x'), '');
want('touch of none', $client->touch('perl-none', 100), '') if $client->can('touch');

$client->set('perl-number', 10);
want('incr', $client->incr('perl-number', 5), 15);
want('decr', $client->decr('perl-number', 7), 8);
want('decr below 0', $client->decr('perl-number', 100), '0E0');
$client->delete('perl-nothing');
want('incr of none', $client->incr('perl-nothing'), '');

my @results = $client->set_multi(map { ["perl-many-$_", "value $_"] } 1 .. 1000);
want('set_multi', scalar(grep { $_ } @results), 1000);
my $many = $client->get_multi(map { "perl-many-$_" } 1 .. 1100);
want('get_multi', scalar(keys %$many), 1000);
want("one of many, $_", $many->{"perl-many-$_"}, "value $_") for 1 .. 1000;
$client->delete_multi(map { "perl-many-$_" } 1 .. 1000);
want('delete_multi', scalar(keys %{$client->get_multi(map { "perl-many-$_" } 1 .. 1000)}), 0);
print 'Cache::Memcached::Fast: ', $wrong == 0 ? 'all is right' : "$wrong things are wrong", "\n";
exit($wrong == 0 ? 0 : 1);
