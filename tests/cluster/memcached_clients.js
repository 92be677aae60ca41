// memcached_clients.js -- memjs against a server: values of all sizes and kinds, odd keys, numbers, who may use it.
// SPDX-License-Identifier: GPL-2.0-only
// usage: memcached_clients.js DIRECTORY_OF_MEMJS PORT SIZE_MAX [USER PASSWORD]: exit code 1 and a line for each thing that is
// not as it should be. With a user: exit code 3 when he is refused.
'use strict';
const crypto = require('crypto');
const memjs = require(process.argv[2]);
const address = '127.0.0.1:' + process.argv[3];
const sizeMax = Number(process.argv[4]);
const options = {timeout: 60, conntimeout: 60, retries: 1, logger: {log() {}}};
if (process.argv[5] !== undefined) Object.assign(options, {username: process.argv[5], password: process.argv[6]});
const client = memjs.Client.create(address, options);
let wrong = 0;

function want(what, got, expected) {
    const same = Buffer.isBuffer(expected) ? Buffer.isBuffer(got) && got.equals(expected) : got === expected;
    if (same) return;
    wrong++;
    console.log(`${what}: ${String(got).slice(0, 100)} instead of ${String(expected).slice(0, 100)}`);
}

async function got(key) { return (await client.get(key)).value; }

async function values() {
    const sizes = [0, 1, 100, 1999, 2000, 2001, 13499, 13950, 13951, 100000, 1 << 20, 4 << 20].filter((size) => size <= sizeMax);
    for (const size of [...sizes, ...sizes.reverse()]) {
        const value = crypto.randomBytes(size);
        want(`set of ${size} bytes`, await client.set('b:js-value', value, {}), true);
        want(`value of ${size} bytes`, await got('b:js-value'), value);
    }
    for (const text of ['plain', '', 'schl\u00fcssel \u043a\u043b\u044e\u0447 \u9375 \u{1f511}', '{"a":[1,2.5,"three"]}', '\u0000\r\n\u0000']) {
        await client.set('js-text', text, {});
        want('text ' + text, (await got('js-text')).toString(), text);
    }
}

async function keys() {
    for (const key of ['js-schl\u00fcssel', '\u043a\u043b\u044e\u0447', '\u9375', 'k'.repeat(250)]) {
        await client.set(key, 'value of ' + key, {});
        want('key ' + key, (await got(key)).toString(), 'value of ' + key);
        want('delete ' + key, await client.delete(key), true);
        want('deleted ' + key, await got(key), null);
        want('delete again ' + key, await client.delete(key), false);
    }
}

async function commands() {
    await client.delete('js');
    want('replace of none', await client.replace('js', 'x', {}), false);
    want('add', await client.add('js', 'one', {}), true);
    want('add again', await client.add('js', 'two', {}), false);
    want('replace', await client.replace('js', 'three', {}), true);
    want('append', await client.append('js', '!'), true);
    want('prepend', await client.prepend('js', '?'), true); // Which memjs sends as an append.
    want('the value', ['three!?', '?three!'].includes((await got('js')).toString()), true);
    want('touch of none', await client.touch('js-none', 100), false);
    await client.delete('js-number');
    want('increment that makes it', (await client.increment('js-number', 5, {initial: 10})).value, 10);
    want('increment', (await client.increment('js-number', 5, {initial: 10})).value, 15);
    want('decrement', (await client.decrement('js-number', 7, {})).value, 8);
    want('decrement below 0', (await client.decrement('js-number', 100, {})).value, 0);
}

async function many() {
    const numbers = Array.from({length: 1000}, (_, i) => i);
    await Promise.all(numbers.map((i) => client.set('js-many-' + i, 'value ' + i, {})));
    const back = await Promise.all(numbers.map((i) => got('js-many-' + i)));
    numbers.forEach((i) => want('one of many', String(back[i]), 'value ' + i));
}

async function main() {
    if (options.username !== undefined) {
        try {
            await client.set('js-user', 'value', {});
        } catch (error) {
            console.log('refused: ' + error.message);
            process.exit(3);
        }
    }
    await values();
    await keys();
    await commands();
    await many();
    client.close();
    console.log('memjs: ' + (wrong === 0 ? 'all is right' : wrong + ' things are wrong'));
    process.exit(wrong === 0 ? 0 : 1);
}

main().catch((error) => {
    console.log('memjs: ' + error.stack);
    process.exit(1);
});
