import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { mock, test, type TestContext } from 'node:test'
import { Identity } from '../src/identity/identity.ts'

const [first, second] = ['mch_00000000000000000000000001', 'mch_00000000000000000000000002']

test('a disk that was copied from another machine gets new host keys, and no other does', async (t) => {
  const disk = makeDisk(t)
  disk.put('usr/sbin/sshd', '')
  disk.put('etc/ssh/sshd_config', 'Port 22')
  await disk.apply(first)
  const its = disk.keys()
  assert.deepEqual(Object.keys(its), keyFiles)
  assert.equal(statSync(disk.at('etc/ssh/ssh_host_ed25519_key')).mode & 0o777, 0o600)
  assert.equal(statSync(disk.at('etc/ssh/ssh_host_ed25519_key.pub')).mode & 0o777, 0o644)
  assert.deepEqual(disk.restarts, 1)

  await disk.apply(first)
  assert.deepEqual(disk.keys(), its)
  assert.equal(disk.restarts, 1)

  disk.put('etc/ssh/ssh_host_dsa_key', 'of another age')
  await disk.apply(second)
  assert.deepEqual(Object.keys(disk.keys()), keyFiles)
  for (const [name, key] of Object.entries(disk.keys())) assert.notEqual(key, its[name])
  assert.equal(disk.restarts, 2)
  assert.equal(readFileSync(disk.at('etc/ssh/sshd_config'), 'utf8'), 'Port 22')
  assert.deepEqual(readdirSync(disk.at('var/lib/computer')), ['machine'])
})

test('the file that names the machine is readable by root alone', async (t) => {
  const disk = makeDisk(t)
  await disk.apply(first)
  assert.equal(readFileSync(disk.at('var/lib/computer/machine'), 'utf8'), `${first}\n`)
  assert.equal(statSync(disk.at('var/lib/computer/machine')).mode & 0o777, 0o600)
  assert.equal(statSync(disk.at('var/lib/computer')).mode & 0o777, 0o700)
})

test('without an SSH server the host keys are removed and none are made', async (t) => {
  const disk = makeDisk(t)
  disk.put('etc/ssh/ssh_host_rsa_key', 'old')
  disk.put('etc/ssh/ssh_host_rsa_key.pub', 'old')
  disk.put('etc/ssh/ssh_config', 'kept')
  await disk.apply(first)
  assert.deepEqual(readdirSync(disk.at('etc/ssh')), ['ssh_config'])
  assert.equal(disk.restarts, 0)
})

test('other state that identifies the source machine is removed, and nothing else', async (t) => {
  const disk = makeDisk(t)
  const gone = [
    'var/lib/dbus/machine-id',
    'var/lib/systemd/random-seed',
    'var/lib/dhcp/dhclient.eth0.leases',
    'var/lib/dhcpcd/duid',
    'var/lib/NetworkManager/internal-eth0.lease',
  ]
  const kept = ['var/lib/dbus/other', 'var/lib/systemd/linger/agent', 'var/lib/dhcp/notes']
  for (const path of [...gone, ...kept]) disk.put(path, 'x')
  await disk.apply(first)
  assert.deepEqual(gone.filter(disk.has), [])
  assert.deepEqual(kept.filter(disk.has), kept)

  disk.link('../../../etc/machine-id', 'var/lib/dbus/machine-id')
  await disk.apply(second)
  assert.ok(disk.has('var/lib/dbus/machine-id'), 'the link to the machine id stays')
})

test('a failed renewal does not stop the boot and runs again with the next one', async (t) => {
  const disk = makeDisk(t)
  const log = mock.method(console, 'error', () => {})
  t.after(() => log.mock.restore())
  disk.put('usr/sbin/sshd', '')
  disk.put('etc/ssh/ssh_host_rsa_key', 'of the source')
  disk.put('var/lib/computer/host-keys/etc/ssh/ssh_host_rsa_key', 'half made')
  disk.makeHostKeys = () => Promise.reject(new Error('no'))
  await disk.apply(first)
  assert.deepEqual(disk.keys(), {}, 'the keys of the source are removed all the same')
  assert.ok(!disk.has('var/lib/computer/machine'))
  assert.equal(log.mock.callCount(), 1)

  disk.makeHostKeys = writeKeys
  await disk.apply(first)
  assert.deepEqual(Object.keys(disk.keys()), keyFiles)
  assert.ok(disk.has('var/lib/computer/machine'))
})

test('a retry while keys are made waits for the same work', async (t) => {
  const disk = makeDisk(t)
  disk.put('usr/sbin/sshd', '')
  disk.put('etc/ssh/ssh_config', '')
  const reached = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  let made = 0
  disk.makeHostKeys = async (prefix) => {
    made += 1
    reached.resolve()
    await held.promise
    writeFileSync(join(prefix, 'etc/ssh/ssh_host_rsa_key'), 'new')
  }
  const identity = disk.boot()
  const request = { machine: first!, hostname: 'host' }
  const early = identity.apply(request)
  await reached.promise
  const late = identity.apply(request)
  held.resolve()
  await Promise.all([early, late])
  assert.equal(made, 1)
  assert.deepEqual(disk.keys(), { ssh_host_rsa_key: 'new' })
})

test('links are not followed, pipes do not block, and other files are untouched', async (t) => {
  const disk = makeDisk(t)
  const log = mock.method(console, 'error', () => {})
  t.after(() => log.mock.restore())
  disk.put('usr/sbin/sshd', '')
  disk.put('elsewhere/ssh_host_rsa_key', 'precious')
  disk.put('elsewhere/machine', 'precious')
  disk.put('elsewhere/random-seed', 'precious')
  disk.put('elsewhere/hosts', 'precious')
  const untouched = () => {
    for (const name of readdirSync(disk.at('elsewhere'))) {
      assert.equal(readFileSync(disk.at(`elsewhere/${name}`), 'utf8'), 'precious', name)
    }
    assert.equal(readdirSync(disk.at('elsewhere')).length, 4)
  }

  // Directories that are links.
  disk.link(disk.at('elsewhere'), 'etc/ssh')
  disk.link(disk.at('elsewhere'), 'var/lib/computer')
  disk.link(disk.at('elsewhere'), 'var/lib/systemd')
  disk.link(disk.at('elsewhere/hosts'), 'etc/hosts')
  await disk.apply(first)
  untouched()
  assert.equal(readlinkSync(disk.at('etc/hosts')), disk.at('elsewhere/hosts'))
  for (const path of ['etc/ssh', 'var/lib/computer', 'var/lib/systemd']) rmSync(disk.at(path))

  // Files that are links, pipes and directories.
  disk.link(disk.at('elsewhere/ssh_host_rsa_key'), 'etc/ssh/ssh_host_rsa_key')
  disk.pipe('etc/ssh/ssh_host_ecdsa_key')
  disk.put('etc/ssh/ssh_host_directory/file', 'kept')
  disk.link(disk.at('elsewhere'), 'var/lib/computer/host-keys')
  disk.pipe('var/lib/computer/machine')
  disk.pipe('var/lib/dbus/machine-id')
  disk.pipe('var/lib/systemd/random-seed')
  rmSync(disk.at('etc/hosts'))
  disk.pipe('etc/hosts')
  rmSync(disk.at('etc/hostname'))
  disk.pipe('etc/hostname')
  await disk.apply(second)
  untouched()
  assert.ok(lstatSync(disk.at('etc/ssh/ssh_host_rsa_key')).isFile())
  assert.ok(lstatSync(disk.at('etc/ssh/ssh_host_ecdsa_key')).isFile())
  assert.ok(disk.has('etc/ssh/ssh_host_directory/file'))
  assert.equal(readFileSync(disk.at('var/lib/computer/machine'), 'utf8'), `${second}\n`)
  assert.equal(readFileSync(disk.at('etc/hostname'), 'utf8'), 'host\n')
  assert.ok(lstatSync(disk.at('etc/hosts')).isFIFO())
})

test('the host name is set and written to the disk, and the hosts file resolves it', async (t) => {
  const disk = makeDisk(t)
  disk.put('etc/hosts', '127.0.0.1\tlocalhost\n127.0.1.1\told-name\n10.0.0.1\tother\n')
  await disk.apply(first, 'brave-otter')
  assert.deepEqual(disk.hostnames, ['brave-otter'])
  assert.equal(readFileSync(disk.at('etc/hostname'), 'utf8'), 'brave-otter\n')
  const hosts = '127.0.0.1\tlocalhost\n127.0.1.1\tbrave-otter\n10.0.0.1\tother\n'
  assert.equal(readFileSync(disk.at('etc/hosts'), 'utf8'), hosts)
  assert.throws(() => disk.boot().apply({ machine: first!, hostname: 'no_name' }), {
    code: 'invalid_request',
  })
})

test('a host name that systemd has set back is set again, once, before the first program of a caller', async (t) => {
  const disk = makeDisk(t)
  const identity = disk.boot()
  await identity.confirm()
  assert.deepEqual(disk.hostnames, [])
  // The name of the host that runs this test stays another throughout.
  await identity.apply({ machine: first!, hostname: 'brave-otter' })
  await Promise.all([identity.confirm(), identity.confirm()])
  assert.deepEqual(disk.hostnames, ['brave-otter', 'brave-otter'])
  await identity.confirm()
  assert.equal(disk.hostnames.length, 2)
})

const keyFiles = ['ecdsa', 'ed25519', 'rsa'].flatMap((type) => [
  `ssh_host_${type}_key`,
  `ssh_host_${type}_key.pub`,
])

/** The part of a machine's disk that has its identity, and a record of the system calls. */
function makeDisk(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), 'guest-identity-'))
  t.after(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'etc'))
  const at = (path: string) => join(root, path)
  const parent = (path: string) => mkdirSync(dirname(at(path)), { recursive: true })
  const disk = {
    at,
    hostnames: [] as string[],
    restarts: 0,
    makeHostKeys: writeKeys,
    /** As the agent does at each boot. */
    boot: () =>
      new Identity(root, {
        setHostname: async (name) => void disk.hostnames.push(name),
        makeHostKeys: (prefix) => disk.makeHostKeys(prefix),
        restartSshd: async () => void (disk.restarts += 1),
      }),
    apply: (machine = '', hostname = 'host') => disk.boot().apply({ machine, hostname }),
    put(path: string, text: string) {
      parent(path)
      writeFileSync(at(path), text)
    },
    link(target: string, path: string) {
      parent(path)
      symlinkSync(target, at(path))
    },
    pipe(path: string) {
      parent(path)
      execFileSync('mkfifo', [at(path)])
    },
    has: (path: string) => existsSync(at(path)) || lstatSync(at(path), noEntry) !== undefined,
    keys(): Record<string, string> {
      const names = readdirSync(at('etc/ssh')).filter((name) => name.startsWith('ssh_host_'))
      return Object.fromEntries(
        names.sort().map((name) => [name, readFileSync(at(`etc/ssh/${name}`), 'utf8')]),
      )
    },
  }
  return disk
}

/** Like ssh-keygen, but fast. */
async function writeKeys(prefix: string): Promise<void> {
  for (const name of keyFiles) writeFileSync(join(prefix, 'etc/ssh', name), randomUUID())
}

const noEntry = { throwIfNoEntry: false } as const
