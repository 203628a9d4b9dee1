import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { readConfig } from '../src/config.ts'
import { runCommand } from '../src/exec/run.ts'
import { ShellPool } from '../src/exec/shell-pool.ts'
import { Processes } from '../src/processes/processes.ts'
import { isBootReleased, loader, releaseBoot } from '../src/secrets/boot.ts'
import { parseSecrets, formatSecrets } from '../src/secrets/file.ts'
import { Secrets } from '../src/secrets/secrets.ts'
import { Users } from '../src/system/users.ts'

const users = new Users('/etc')
const nobody = users.find('nobody')!
const root = users.find('root')!

const values = {
  PLAIN: 'plain',
  EMPTY: '',
  _: 'under',
  QUOTES: `'"'" ''' "" '`,
  SHELL_WORDS: '$HOME ${PATH} $(id) `id` \\ \\n ! * ~ # ; & | < > ( ) { } [ ] = %',
  LINES: '\n\nfirst\r\nsecond\n\ttabbed \n',
  // Bytes that a shell uses for itself within a word: 0x81 to 0x88.
  BYTES: 'āĂăĄąĆćĈ \u0001\u0002\u007f é漢😀 \u2028',
  HEREDOC: "EOF\n'EOF'\nexport PLAIN=other\n",
}
const { _, ...inShells } = values

test('every shell reads the exact values from the file', (t) => {
  const { folder, secrets } = makeSecrets(t)
  secrets.replace(setOf(1, values), root)
  const shellLoader = loader.replaceAll('/run/computer', folder)
  for (const shell of [['sh'], ['dash'], ['bash', '--norc'], ['bash', '--norc', '--posix']]) {
    for (const option of ['+a', '-a', '-eu']) {
      const script = `set ${option}\n${shellLoader}\ncase $- in *a*) echo a;; esac >&2\nexec env -0`
      const [file, ...args] = shell as [string]
      const env = { PATH: process.env['PATH'] }
      const { stdout, stderr } = spawnSync(file, [...args, '-c', script], { env })
      assert.equal(
        stderr.toString(),
        option === '-a' ? 'a\n' : '',
        'the options of the shell are unchanged',
      )
      const lines = stdout.toString().split('\0')
      const seen = Object.fromEntries(lines.map((line) => splitAt(line, '=')))
      const found = Object.keys(inShells).map((name) => [name, seen[name]])
      assert.deepEqual(Object.fromEntries(found), inShells, `${shell.join(' ')} ${option}`)
    }
  }
})

test('the agent reads back the file it wrote, up to the longest set allowed', () => {
  for (const set of [
    setOf(0, {}),
    setOf(7, values),
    longestSet('a'),
    longestSet("'"),
    longestSet("'a"),
  ]) {
    assert.deepEqual(parseSecrets(formatSecrets(set)), set)
  }
  const whole = formatSecrets(setOf(3, values))
  for (const broken of ['', 'A=1\n', whole.slice(0, -1), `${whole}x`, whole.replace('=', ' = ')]) {
    assert.deepEqual(parseSecrets(broken), setOf(0, {}))
  }
})

test('a set replaces the earlier one, an older one is ignored, an empty one removes the file', (t) => {
  const { folder, secrets } = makeSecrets(t)
  assert.ok(secrets.replace(setOf(2, { A: 'one', B: 'two' }), nobody))
  const { mode, uid, gid } = statSync(join(folder, 'secrets.env'))
  assert.deepEqual([mode & 0o7777, uid, gid], [0o600, nobody.uid, nobody.gid])
  assert.deepEqual({ ...secrets.environment }, { A: 'one', B: 'two' })

  assert.ok(!secrets.replace(setOf(1, { A: 'old' }), nobody))
  assert.ok(secrets.replace(setOf(3, { A: 'new' }), nobody))
  assert.deepEqual({ ...new Secrets(folder).environment }, { A: 'new' }, 'after a restart')
  assert.equal(new Secrets(folder).revision, 3)

  assert.ok(secrets.replace(setOf(4, {}), nobody))
  assert.deepEqual([readdirSync(folder), { ...secrets.environment }], [[], {}])
})

test('secrets are never written to a disk', (t) => {
  const folder = mkdtempSync('/var/tmp/guest-secrets-')
  t.after(() => rmSync(folder, { recursive: true }))
  const secrets = new Secrets(folder)
  const refused = { code: 'precondition_failed', message: /is not in memory/ }
  assert.throws(() => secrets.replace(setOf(1, { A: 'a' }), root), refused)
  assert.deepEqual([readdirSync(folder), secrets.revision], [[], 0])
})

test('commands and processes have the secrets; variables of the caller take precedence', async (t) => {
  const { folder, secrets } = makeSecrets(t)
  secrets.replace(setOf(1, values), root)
  const pool = new ShellPool()
  const run = async (env: Record<string, string> = {}) => {
    const login = { user: root, ownsDesktop: false, secrets: secrets.environment }
    const request = { ...login, command: ['printenv', 'PLAIN', 'LINES'], timeout_ms: 60_000, env }
    return (await runCommand(pool, request, new AbortController().signal)).stdout
  }
  // The second command runs in a pooled shell, which has the secrets since its start.
  for (let turn = 0; turn < 2; turn += 1) assert.equal(await run(), `plain\n${values.LINES}\n`)
  assert.equal(await run({ PLAIN: 'given' }), `given\n${values.LINES}\n`)
  secrets.replace(setOf(2, { PLAIN: 'changed' }), root)
  assert.equal(await run(), 'changed\n')
  pool.drain()

  const processes = new Processes(join(folder, 'processes'))
  const login = { user: root, ownsDesktop: false, secrets: secrets.environment }
  const id = `prc_${'0'.repeat(26)}` as const
  await processes.start({ id, command: ['printenv', 'PLAIN'], user: 'root' }, login)
  const never = new AbortController().signal
  await processes.find(id).waitForExit(60, never)
  const query = { stream: 'stdout', offset: 0, length: 100, wait: 0 } as const
  const { content } = await processes.find(id).readLog(query, never)
  assert.equal(Buffer.from(content, 'base64').toString(), 'changed\n')
})

test('a program starts with the longest set allowed', async () => {
  const { secrets } = longestSet('a')
  const environment = Object.fromEntries(secrets.map(({ name, value }) => [name, value]))
  const login = { user: root, ownsDesktop: false, secrets: environment }
  const request = { ...login, command: ['sh', '-c', 'env | wc -c'], timeout_ms: 60_000 }
  const pool = new ShellPool()
  const result = await runCommand(pool, request, new AbortController().signal)
  pool.drain()
  assert.deepEqual([result.exit_code, result.stderr], [0, ''])
  assert.ok(Number(result.stdout) > 1_000_000)
})

test('releasing the boot writes two files without a secret to the disk', async (t) => {
  const { folder } = makeSecrets(t)
  const rootPath = mkdtempSync(join(tmpdir(), 'guest-root-'))
  t.after(() => rmSync(rootPath, { recursive: true }))
  const config = { ...readConfig({}), rootPath, secretsFolder: folder }
  const loaderPath = join(rootPath, 'etc/profile.d/10-computer-secrets.sh')
  mkdirSync(join(rootPath, 'etc/profile.d'), { recursive: true })
  writeFileSync(loaderPath, 'spoilt')
  assert.equal(isBootReleased(config), false)
  await releaseBoot(config)
  assert.equal(isBootReleased(config), true)
  assert.equal(readFileSync(loaderPath, 'utf8'), loader)
  assert.equal(statSync(loaderPath).mode & 0o777, 0o644)
  const unit = 'etc/systemd/system/computer-agent.service.d/secrets.conf'
  assert.match(readFileSync(join(rootPath, unit), 'utf8'), /^Before=basic\.target$/m)
  assert.deepEqual(readdirSync(folder), ['boot-released'])
  const writtenMs = statSync(loaderPath).mtimeMs
  await releaseBoot(config)
  assert.equal(statSync(loaderPath).mtimeMs, writtenMs, 'unchanged files are not written again')
})

test('where the image holds its boots itself, only the file for login shells is written', async (t) => {
  const { folder } = makeSecrets(t)
  const rootPath = mkdtempSync(join(tmpdir(), 'guest-root-'))
  t.after(() => rmSync(rootPath, { recursive: true }))
  mkdirSync(join(rootPath, 'usr/lib/computer'), { recursive: true })
  writeFileSync(join(rootPath, 'usr/lib/computer/init'), '')
  const config = { ...readConfig({}), rootPath, secretsFolder: folder }
  await releaseBoot(config)
  assert.equal(isBootReleased(config), true)
  assert.deepEqual(readdirSync(join(rootPath, 'etc')), ['profile.d'])
})

/** In memory, like /run in a machine. */
function makeSecrets(t: TestContext): { folder: string; secrets: Secrets } {
  const folder = mkdtempSync('/dev/shm/guest-secrets-')
  t.after(() => rmSync(folder, { recursive: true }))
  return { folder, secrets: new Secrets(folder) }
}

function setOf(revision: number, secrets: Readonly<Record<string, string>>) {
  const list = Object.entries(secrets).map(([name, value]) => ({ name, value }))
  return { revision, secrets: list }
}

/** 1 MiB in values of 64 KiB. */
function longestSet(text: string) {
  const value = text.repeat(65_536 / text.length)
  const pairs = Array.from({ length: 16 }, (_, index) => [`A${index}`, value] as const)
  return setOf(1, Object.fromEntries(pairs))
}

function splitAt(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return [text.slice(0, at), text.slice(at + 1)]
}
