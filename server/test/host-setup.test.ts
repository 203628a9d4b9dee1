import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'

const scripts = join(import.meta.dirname, '..', '..', 'scripts')

const written = 'sources.list.d/computer-backports.sources'

test('backports come from the mirror of a .sources file, with its key', async (t) => {
  const apt = await aptFolder(t, {
    'sources.list.d/debian.sources': [
      'Types: deb-src',
      'URIs: http://sources.example/debian',
      'Suites: bookworm',
      '',
      'Types: deb deb-src',
      '# a comment inside a stanza',
      'URIs: http://mirror.example/debian http://second.example/debian',
      'Suites: bookworm bookworm-updates',
      'Components: main',
      'Signed-By:',
      ' -----BEGIN PGP PUBLIC KEY BLOCK-----',
      ' .',
      ' abc',
    ],
  })
  await addBackports(apt)
  assert.equal(
    await readFile(join(apt, written), 'utf8'),
    [
      'Types: deb',
      'Suites: bookworm-backports',
      'Components: main',
      'URIs: http://mirror.example/debian',
      'Signed-By:',
      ' -----BEGIN PGP PUBLIC KEY BLOCK-----',
      ' .',
      ' abc',
      '',
    ].join('\n'),
  )
  assert.match(
    await readFile(join(apt, 'preferences.d/computer-backports'), 'utf8'),
    /^Package: incus-base .*\nPin: release n=bookworm-backports\nPin-Priority: 990\n$/,
  )
})

test('backports come from the mirror of a one-line source, with its options', async (t) => {
  const apt = await aptFolder(t, {
    'sources.list': [
      '# deb http://commented.example/debian bookworm main',
      'deb cdrom:[Debian]/ bookworm main',
      'deb http://security.example bookworm-security main',
      'deb [ arch=amd64 signed-by=/etc/apt/keyrings/own.gpg ] https://mirror.example/debian bookworm main',
    ],
  })
  await addBackports(apt)
  assert.match(
    await readFile(join(apt, written), 'utf8'),
    /URIs: https:\/\/mirror.example\/debian\nSigned-By: \/etc\/apt\/keyrings\/own.gpg\n$/,
  )
})

test('a host that has backports already keeps its own source', async (t) => {
  const apt = await aptFolder(t, {
    'sources.list': [
      'deb http://mirror.example/debian bookworm main',
      'deb http://mirror.example/debian bookworm-backports main',
    ],
  })
  await addBackports(apt)
  await assert.rejects(readFile(join(apt, written)), { code: 'ENOENT' })
})

test('on a host without a mirror the error names the source to add', async (t) => {
  const apt = await aptFolder(t, { 'sources.list': ['deb http://mirror.example trixie main'] })
  await assert.rejects(addBackports(apt), /no mirror of Debian 12 .*\n.*what to do: Add a line/)
})

test('an interrupted npm ci is not taken for an installation', async (t) => {
  const repo = await folder(t)
  const lock = {
    packages: {
      '': { name: 'x' },
      'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' },
      'node_modules/b': { version: '1.0.0', integrity: 'sha512-b', optional: true },
    },
  }
  await mkdir(join(repo, 'node_modules', 'a'), { recursive: true })
  await writeFile(join(repo, 'package-lock.json'), JSON.stringify(lock))
  const compare = () =>
    promisify(execFile)(process.execPath, [join(scripts, 'setup/compare-locks.mjs'), repo])

  await assert.rejects(compare, 'no hidden lock: npm had not finished')
  const present = { 'node_modules/a': lock.packages['node_modules/a'] }
  await writeFile(hidden(repo), JSON.stringify({ packages: present }))
  await compare()
  await rm(join(repo, 'node_modules', 'a'), { recursive: true })
  await assert.rejects(compare, 'a folder is gone')
  await mkdir(join(repo, 'node_modules', 'a'))
  present['node_modules/a'] = { version: '0.9.0', integrity: 'sha512-a' }
  await writeFile(hidden(repo), JSON.stringify({ packages: present }))
  await assert.rejects(compare, 'another version')
})

function hidden(repo: string): string {
  return join(repo, 'node_modules', '.package-lock.json')
}

async function aptFolder(
  t: TestContext,
  files: Readonly<Record<string, readonly string[]>>,
): Promise<string> {
  const apt = await folder(t)
  for (const name of ['sources.list.d', 'preferences.d']) await mkdir(join(apt, name))
  for (const [name, lines] of Object.entries(files)) {
    await writeFile(join(apt, name), `${lines.join('\n')}\n`)
  }
  return apt
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'computer-setup-test-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

async function addBackports(apt: string): Promise<void> {
  const source = '. setup/progress.sh; . setup/packages.sh; work=$1; apt_dir=$1; add_backports'
  await promisify(execFile)('bash', ['-euc', source, 'test', apt], { cwd: scripts })
}
