import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { commit } from '../src/drivers/incus/disks/btrfs.ts'
import {
  measureFreed,
  measureContent,
  measureCapture,
  readDisks,
  type MachineDisk,
} from '../src/drivers/incus/disks/measure.ts'
import { findSysfsFolder, type HostPool } from '../src/drivers/incus/disks/host-pool.ts'
import { readDiskId, readQuota, setLimit } from '../src/drivers/incus/disks/quotas.ts'
import { until } from './conformance/expectations.ts'

const image = 'a'.repeat(64)
const mebibyte = 2 ** 20

/** Compares with quotas: for a disk without captures or relatives, the held bytes are the charged ones. */
describe('the space that disks hold is measured', () => {
  let folder: string
  let pool: HostPool
  let machines = 0

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'computer-pool-'))
    const file = join(folder, 'pool.img')
    const mounted = join(folder, 'pool')
    mkdirSync(mounted)
    writeFileSync(file, '')
    truncateSync(file, 2 * 2 ** 30)
    run('mkfs.btrfs', '--quiet', file)
    run('mount', '-o', 'loop,noatime', file, mounted)
    run('btrfs', 'quota', 'enable', '--simple', mounted)
    pool = {
      folder: mounted,
      project: 'test',
      sysfsFolder: await findSysfsFolder(mounted),
    }
    for (const name of ['images', 'containers']) mkdirSync(join(mounted, name))
    run('btrfs', 'subvolume', 'create', imageFolder())
    for (let index = 0; index < 2_000; index += 1) {
      writeFileSync(join(imageFolder(), `file-${index}`), randomBytes(index * 8))
    }
    run('sync', '--file-system', mounted)
  })
  after(() => {
    run('umount', join(folder, 'pool'))
    rmSync(folder, { recursive: true })
  })

  for (const [what, write] of [
    ['nothing', () => {}],
    ['large files', (disk: string) => writeFileSync(join(disk, 'big'), randomBytes(64 * mebibyte))],
    ['many small files', writeSmallFiles],
    [
      'many small files of which most are gone',
      (disk: string) => {
        writeSmallFiles(disk)
        for (let index = 0; index < 20_000; index += 1) {
          if (index % 5 > 0) unlinkSync(join(disk, `small-${index}`))
        }
      },
    ],
    [
      'a file that was overwritten here and there, and one with holes',
      (disk: string) => {
        writeFileSync(join(disk, 'big'), randomBytes(32 * mebibyte))
        run('sync', '--file-system', disk)
        const file = openSync(join(disk, 'big'), 'r+')
        for (let index = 0; index < 500; index += 1) {
          writeSync(file, randomBytes(4096), 0, 4096, ((index * 7919) % 8192) * 4096)
        }
        closeSync(file)
        truncateSync(join(disk, 'big'), 2 ** 40)
      },
    ],
    [
      'files that share what they hold',
      (disk: string) => {
        writeFileSync(join(disk, 'big'), randomBytes(32 * mebibyte))
        run('cp', '--reflink=always', join(disk, 'big'), join(disk, 'again'))
        run('cp', '--reflink=always', join(disk, 'file-1999'), join(disk, 'of-the-image'))
      },
    ],
    [
      'room that was only reserved',
      (disk: string) => run('fallocate', '-l', '40M', join(disk, 'r')),
    ],
  ] as const) {
    test(`the held bytes are the charged bytes for ${what}`, async () => {
      const machine = copy(imageFolder(), nextMachine())
      write(diskOf(machine))
      const { chargedBytes } = await quotaOf(machine)
      const held = await heldBy(machine)
      // The estimate of the disk's own tree blocks is off by at most the image's tree.
      const slack = mebibyte / 2 + (await readDisks(pool)).images.get(image)!.treeBytes
      assert.ok(Math.abs(held - chargedBytes) < slack, `held ${held}, charged ${chargedBytes}`)
    })
  }

  test('data kept by captures alone is charged but not held, and freed with the last capture', async () => {
    const machine = copy(imageFolder(), nextMachine())
    for (const name of ['first', 'second']) {
      writeFileSync(join(diskOf(machine), name), randomBytes(20 * mebibyte))
    }
    run('sync', '--file-system', diskOf(machine))
    const capture = copy(diskOf(machine), 'cap-01kaj0v3m8q4t2x6y9z1b5c7d3')
    unlinkSync(join(diskOf(machine), 'first'))
    writeFileSync(join(diskOf(machine), 'third'), randomBytes(10 * mebibyte))
    assertNear((await quotaOf(machine)).chargedBytes, 50)
    assertNear(await heldBy(machine), 30)
    const disk = await find(machine)
    assertNear(await measureCapture(pool, disk, capture), 40)
    assertNear(await measureFreed(pool, disk, diskOf(capture)), 20)

    const other = copy(diskOf(capture), nextMachine())
    writeFileSync(join(diskOf(other), 'fourth'), randomBytes(5 * mebibyte))
    assertNear((await quotaOf(other)).chargedBytes, 5)
    assertNear(await heldBy(other), 45)
    const relations = (await readDisks(pool)).machines.filter(({ instance }) =>
      [machine, other].includes(instance),
    )
    assert.deepEqual(
      relations.map(({ inherits, isShrinking }) => ({ inherits, isShrinking })),
      [
        { inherits: false, isShrinking: false },
        { inherits: true, isShrinking: false },
      ],
    )
    assert.notEqual(relations[0]!.captures, '')

    const ofOther = copy(diskOf(other), 'cap-01kaj0v3m8q4t2x6y9z1b5c7d4')
    assertNear(await measureCapture(pool, await find(other), ofOther), 5)
  })

  test('a machine whose capture is removed counts as shrinking until the space is free', async () => {
    const machine = copy(imageFolder(), nextMachine())
    writeFileSync(join(diskOf(machine), 'big'), randomBytes(20 * mebibyte))
    const capture = copy(diskOf(machine), 'cap-01kaj0v3m8q4t2x6y9z1b5c7d5')
    assert.equal((await find(machine)).isShrinking, false)
    assert.equal((await find(machine, new Set([basename(diskOf(capture))]))).isShrinking, true)
    // An open file keeps the space of the deleted capture in use.
    const reading = openSync(join(diskOf(capture), 'big'), 'r')
    run('btrfs', 'subvolume', 'delete', diskOf(capture))
    assert.equal((await find(machine)).isShrinking, true)
    closeSync(reading)
    await until(async () => {
      await commit(pool.folder)
      return (await find(machine)).captures === ''
    })
    assert.equal((await find(machine)).isShrinking, false)
  })

  test('a limit below the current usage of a disk can be set', async () => {
    const machine = copy(imageFolder(), nextMachine())
    writeFileSync(join(diskOf(machine), 'big'), randomBytes(8 * mebibyte))
    const id = await readDiskId(pool, machine)
    for (const bytes of [mebibyte, 20 * mebibyte, Infinity]) {
      await setLimit(pool, id, bytes)
      assert.equal((await readQuota(pool, id)).limitBytes, bytes)
    }
  })

  function nextMachine(): string {
    machines += 1
    return `mch-01kaj0v3m8q4t2x6y9z1b5c7${String(machines).padStart(2, '0')}-g1`
  }

  function copy(from: string, instance: string): string {
    run('btrfs', 'subvolume', 'snapshot', from, diskOf(instance))
    return instance
  }

  function imageFolder(): string {
    return join(pool.folder, 'images', image)
  }

  function diskOf(instance: string): string {
    return join(pool.folder, 'containers', `test_${instance}`)
  }

  async function quotaOf(instance: string) {
    run('sync', '--file-system', pool.folder)
    await commit(pool.folder)
    return readQuota(pool, await readDiskId(pool, instance))
  }

  async function find(machine: string, removing?: ReadonlySet<string>): Promise<MachineDisk> {
    const { machines: disks } = await readDisks(pool, removing)
    const disk = disks.find(({ instance }) => instance === machine)
    assert.ok(disk)
    return disk
  }

  async function heldBy(instance: string): Promise<number> {
    const { images } = await readDisks(pool)
    return measureContent(pool, instance, await find(instance), images.get(image))
  }
})

function writeSmallFiles(disk: string): void {
  for (let index = 0; index < 20_000; index += 1) {
    writeFileSync(join(disk, `small-${index}`), 'x'.repeat((index * 7919) % 1500))
  }
}

function assertNear(bytes: number, mebibytes: number): void {
  const difference = bytes / mebibyte - mebibytes
  assert.ok(Math.abs(difference) < 1, `${bytes} bytes are not ${mebibytes} MiB`)
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}
