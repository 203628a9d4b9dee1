import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { bashScript } from '../src/commands/completion/bash.ts'
import { fishScript } from '../src/commands/completion/fish.ts'
import { readTree, type Node } from '../src/commands/completion/tree.ts'
import { zshScript } from '../src/commands/completion/zsh.ts'
import { createProgram } from '../src/program.ts'
import { startComputer } from './computer.ts'

const nodes = readTree(createProgram())

test('bash completes commands, options and the values of options', () => {
  assert.deepEqual(bash('mach'), ['machines'])
  assert.deepEqual(bash('machines', 're'), ['restart', 'rename', 'resize', 'restore'])
  assert.deepEqual(bash('m', 'create', 'first', '--s'), ['--size'])
  assert.deepEqual(bash('machines', 'ls', '--state', 'st'), ['stopping', 'stopped', 'starting'])
  assert.deepEqual(bash('completion', '--'), ['--help'])
  assert.deepEqual(bash('--profile', 'work', 'machines', 'sta'), ['start'])
})

/** Each asks for the machines of one server, and gets what a shell might interpret. */
const names = ['first', 'second', '--help', '$(touch ran)', "it's"]
const server = ['--profile', 'work', '--url', 'http://x']
const asked = [...server, 'machines', 'stop', '--timeout', '5', '']

test('bash completes the names of machines, quoted', () => {
  assert.deepEqual(bash(...asked), ['first', 'second', '--help', '\\$\\(touch\\ ran\\)', "it\\'s"])
  assert.deepEqual(bash('exec', '-u', 'root', '-n', 'f'), ['first'])
  assert.deepEqual(bash('events', 'se'), ['second'])
  // The first argument alone is a machine, and a value of an option is none.
  const inFolder = { cwd: import.meta.dirname }
  assert.deepEqual(bash.in(inFolder)('exec', 'first', 'computer.t'), ['computer.ts'])
  assert.deepEqual(bash.in(inFolder)('exec', '-w', 'computer.t'), ['computer.ts'])
})

test('zsh and fish complete the names of machines', () => {
  const zsh = `compdef() { : }; compadd() { print -rl -- "\${@[2,-1]}" }; _files() { print files }
${zshScript(nodes)}
computer() { ${answering("'")} }
words=("$@"); CURRENT=$#; _computer`
  const inZsh = (...words: string[]) => ['-fc', zsh, 'zsh', 'computer', ...words]
  assert.deepEqual(lines('zsh', inZsh(...asked)), names)
  assert.deepEqual(lines('zsh', inZsh('exec', 'first', '')), ['files'])
  const fish = `${fishScript(nodes)}
function computer; ${answering("'")}; end
complete -C "$argv"`
  const inFish = (line: string) => ['--no-config', '-c', fish, '--', `computer ${line}`]
  const found = lines('fish', inFish(asked.join(' ')))
  for (const name of ['first', 'second']) assert.ok(found.includes(name))
  assert.deepEqual(lines('fish', inFish('exec -u root se')), ['second'])
})

test('every script parses in its shell', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'computer-completion-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const tangled: Node = {
    path: '',
    commands: [{ names: ['odd'], description: `it's "$HOME" \\ \`x\`` }],
    options: [],
    takesMachine: true,
  }
  for (const [shell, script] of [
    ['bash', bashScript([...nodes, { ...tangled, path: 'odd' }])],
    ['zsh', zshScript([...nodes, { ...tangled, path: 'odd' }])],
    ['fish', fishScript([...nodes, { ...tangled, path: 'odd' }])],
  ] as const) {
    // fish reads no socket, which is what Node gives a child as its input.
    const file = join(folder, shell)
    writeFileSync(file, script)
    const { error, status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' })
    assert.equal(status, 0, error?.message ?? stderr)
  }
})

test('every script contains every command', () => {
  const scripts = [bashScript(nodes), zshScript(nodes), fishScript(nodes)]
  assert.ok(nodes.length > 40)
  for (const { path } of nodes)
    for (const script of scripts)
      assert.ok(script.includes(`'${path}'`) || script.includes(`"${path}"`), path)
})

test('the names of machines are those of the server, within a second or not at all', async () => {
  const { run, runOutside, server: api } = await startComputer({ after })
  for (const name of ['one', 'two']) await api.machine({ name })
  const listed = await run(['complete-machines'])
  assert.deepEqual([listed.stdout, listed.stderr, listed.code], ['two\none\n', '', 0])
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  after(() => silent.closeAllConnections())
  after(() => void silent.close())
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const env = { COMPUTER_API_KEY: 'x', COMPUTER_BASE_URL: `http://127.0.0.1:${port}` }
  const none = { code: 0, stdout: '', stderr: '' }
  for (const failing of [env, { ...env, COMPUTER_BASE_URL: api.baseUrl }, {}]) {
    const { code, stdout, stderr } = await runOutside(['complete-machines'], { env: failing })
    assert.deepEqual({ code, stdout, stderr }, none)
  }
  assert.doesNotMatch((await run(['--help'])).stdout, /complete-machines|ssh/)
})

/** The body of a `computer` that names machines if it was asked for those of the right server. */
function answering(quotation: string): string {
  const quoted = names.map((name) => `'${name.replaceAll("'", `'\\''`)}'`)
  return `printf ${quotation}%s\\n${quotation} ${quoted.join(' ')}`
}

function bash(...words: string[]): string[] {
  return bash.in({})(...words)
}
bash.in =
  ({ cwd }: { readonly cwd?: string }) =>
  (...words: string[]) => {
    const isFull = words.includes('--url')
    const check = isFull ? `[[ "$*" == 'complete-machines ${server.join(' ')}' ]] && ` : ''
    const script = `${bashScript(nodes)}
computer() { ${check}${answering("'")}; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _computer; printf '%s\\n' "\${COMPREPLY[@]}"`
    const args = ['--norc', '-c', script, 'bash', 'computer', ...words]
    return execFileSync('bash', args, { encoding: 'utf8', cwd }).trim().split('\n')
  }

function lines(shell: string, args: readonly string[]): string[] {
  const { error, stdout, stderr } = spawnSync(shell, args, { encoding: 'utf8' })
  assert.equal(error?.message ?? stderr, '')
  return stdout.trim().split('\n')
}
