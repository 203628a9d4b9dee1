import type { Machine } from '@computer/sdk'
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { RealServer } from './harness/server.ts'
import { joinServer } from './harness/shared-server.ts'

/* The tools that a new machine has, each at work without the network. */

let server: RealServer
let machine: Machine

before(async () => {
  server = await joinServer()
  machine = await server.computer.machines.create({ name: 'tools' })
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
})

test('Node has its maintained version, with npm', async () => {
  assert.match(await run('node --version'), /^v24\./)
  assert.match(await run('npm --version'), /^11\./)
  const script =
    'mkdir app; cd app; npm init --yes >/dev/null; npm pkg set scripts.say="echo hello"'
  assert.match(await run(`${script}; npm run --silent say; npx --version`), /^hello\n11\./)
})

test('C, C++ and a makefile are built', async () => {
  const script = `
    mkdir build; cd build
    printf '#include <stdio.h>\\nint main(void) { puts("from C"); }' >c.c
    printf '#include <iostream>\\nint main() { std::cout << "from C++\\\\n"; }' >cpp.cc
    printf 'all: c cpp\\n\\t./c\\n\\t./cpp\\n' >Makefile
    make --silent`
  assert.equal(await run(script), 'from C\nfrom C++\n')
})

test('Python has virtual environments with pip', async () => {
  const script = 'python3 -m venv env; . env/bin/activate; pip --version; command -v python'
  assert.match(await run(script), /^pip .*\n\/home\/agent\/env\/bin\/python\n$/)
})

test('data, archives and videos can be handled', async () => {
  assert.equal(await run("sqlite3 :memory: 'select 6 * 7'"), '42\n')
  assert.equal(await run(`echo '{"a":[1,2]}' | jq -c .a`), '[1,2]\n')
  assert.equal(await run('echo needle >hay; rg --no-filename need hay'), 'needle\n')
  assert.match(await run('zip -q hay.zip hay; unzip -p hay.zip'), /needle/)
  const video = 'ffmpeg -v error -f lavfi -i testsrc=duration=1:size=64x64:rate=10 test.mp4'
  const count = 'ffprobe -v error -count_frames -show_entries stream=nb_read_frames -of csv=p=0'
  assert.equal(await run(`${video} && ${count} test.mp4`), '10\n')
})

test('a shell has an editor, a multiplexer and a monitor', async () => {
  const script = `
    vim -es -c 'normal itext' -c 'wq' note.txt; cat note.txt
    tmux new-session -d; tmux send-keys 'echo in tmux >out; tmux wait-for -S done' Enter
    tmux wait-for done; tmux kill-server; cat out
    htop --version | head -n 1`
  assert.match(await run(script), /^text\nin tmux\nhtop /)
})

async function run(script: string): Promise<string> {
  const { exitCode, stdout, stderr } = await machine.exec(['bash', '-euc', script])
  assert.equal(exitCode, 0, stderr)
  return stdout
}
