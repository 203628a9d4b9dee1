import type { CaptureId } from '@computer/contract'
import assert from 'node:assert/strict'
import { existsSync, readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { leaveOutDesktop, startTestEngine, type TestEngine } from '../../e2e/harness/engine.ts'
import { runWhenBooted } from '../../e2e/guest/exec.ts'
import type { Disk } from '../src/drivers/disk-keeper.ts'
import { poolFolder } from '../src/drivers/incus/disks/host-pool.ts'
import { createIncusDriver } from '../src/drivers/incus/driver.ts'
import { nameOf } from '../src/drivers/incus/instance.ts'
import type { MachineDriver, MachineSpec } from '../src/drivers/machine-driver.ts'
import { newId } from '../src/ids.ts'

const project = 'backups'
const dayMs = 24 * 60 * 60_000

/** One engine whose disks are kept, and one that they are restored to. */
describe('disks are kept for backups', () => {
  let here: Host
  let there: Host
  before(async () => {
    here = await openHost()
    there = await openHost()
  })
  after(async () => {
    await here?.[Symbol.asyncDispose]()
    await there?.[Symbol.asyncDispose]()
  })

  test('a machine is made exactly from a chain of three streams', async () => {
    await using keeper = await openKeeper('chain')
    const machine = await here.runMachine()
    const chain: { id: CaptureId; base: CaptureId | null; bytes: Buffer }[] = []
    const keep = async () => {
      const base = chain.at(-1)?.id ?? null
      const kept = { disk: diskOf(machine), id: newId('cap') }
      assert.ok(await keeper.keep(kept.disk, kept.id))
      const transfer = { imageId: machine.imageId, base }
      const bytes = await buffer(await keeper.send(kept, transfer))
      if (base) await keeper.drop({ disk: kept.disk, id: base })
      chain.push({ id: kept.id, base, bytes })
    }
    await here.run(machine, `mkdir /home/t; cd /home/t; ${firstFiles}`)
    await keep()
    await here.run(machine, `cd /home/t; ${secondFiles}`)
    await keep()
    await here.run(machine, `cd /home/t; ${thirdFiles}; sync`)
    const listed = await here.run(machine, listing)
    await here.driver.stop(machine, { graceMs: 30_000 })
    await keep()
    assert.ok(chain[0]!.bytes.length > 4_000_000)
    for (const { bytes } of chain.slice(1)) assert.ok(bytes.length < chain[0]!.bytes.length / 2)

    for (const { id, base, bytes } of chain) {
      const transfer = { imageId: machine.imageId, base }
      await there.driver.receiveCapture(id, transfer, Readable.from([bytes]))
      if (base) await there.driver.removeCapture(base)
    }
    const last = chain.at(-1)!.id
    const restored = { ...there.engine.makeSpec(), captureId: last }
    await there.driver.create(restored)
    await there.driver.removeCapture(last)
    await there.driver.start(restored)
    assert.equal(await there.run(restored, listing), listed)
    assert.match(listed, /second\.link/)
    await there.driver.destroy(restored)
    await here.driver.destroy(machine)
  })

  test('the sweep removes what is kept of machines that are gone, and what no backup uses any more', async () => {
    const machine = await here.runMachine()
    const gone = await here.runMachine()
    const keepers = ['usedlately', 'idle', 'abandoned']
    for (const name of keepers) {
      await using keeper = await openKeeper(name)
      for (const spec of [machine, gone]) await keeper.keep(diskOf(spec), newId('cap'))
    }
    await here.driver.destroy(gone)
    const setIdle = (name: string, ms: number) =>
      utimesSync(join(here.keptFolder, name), new Date(), new Date(Date.now() - ms))
    setIdle('idle', dayMs)
    setIdle('abandoned', 31 * dayMs)
    await here.driver.sweep()
    await here.driver.sweep()
    assert.equal(readdirSync(join(here.keptFolder, 'usedlately')).length, 2)
    assert.deepEqual(readdirSync(join(here.keptFolder, 'idle')), [nameOf(machine)])
    assert.ok(!existsSync(join(here.keptFolder, 'abandoned')))
    await here.driver.destroy(machine)
  })

  const openKeeper = (name: string) => here.driver.openKeeper(name)
})

type Host = AsyncDisposable & {
  readonly engine: TestEngine
  readonly driver: MachineDriver
  readonly keptFolder: string
  runMachine(): Promise<MachineSpec>
  run(machine: MachineSpec, script: string): Promise<string>
}

async function openHost(): Promise<Host> {
  const engine = await startTestEngine()
  const driver = createIncusDriver(engine.optionsOf(project))
  await driver.prepare()
  leaveOutDesktop(engine)
  await driver.addImage(engine.imageId, engine.imageFiles)
  return {
    engine,
    driver,
    keptFolder: join(poolFolder(engine.engineDir, 'default'), 'kept'),
    async runMachine() {
      const machine = engine.makeSpec()
      await driver.create(machine)
      await driver.start(machine)
      return machine
    },
    async run(machine, script) {
      const place = { project, instance: nameOf(machine) }
      const result = await runWhenBooted(engine.client, place, script)
      assert.equal(result.code, 0, `${script}: ${JSON.stringify(result)}`)
      return result.stdout
    },
    async [Symbol.asyncDispose]() {
      await driver[Symbol.asyncDispose]()
      await engine[Symbol.asyncDispose]()
    },
  }
}

function diskOf(machine: MachineSpec): Disk {
  return { kind: 'machine', ref: machine }
}

const setAttribute = (file: string, value: string) =>
  `python3 -c "import os; os.setxattr('${file}', 'user.mark', b'${value}')"`

const firstFiles = `head -c 5000000 /dev/urandom > large; echo one > first; ln first first.link
ln -s first symbolic; truncate -s 40M sparse; printf end | dd of=sparse bs=1 seek=20000000 conv=notrunc status=none
chown 1234:4321 first; chmod 4750 large; mkfifo pipe; ${setAttribute('first', 'one')}; echo gone > gone; mkdir -p deep/er`
const secondFiles = `rm gone; mv large moved; ln moved second.link; echo two >> first; touch -d 2001-02-03 deep
${setAttribute('first', 'two')}; ${setAttribute('moved', 'three')}; head -c 100000 /dev/urandom > deep/er/new`
const thirdFiles = `rm first.link; printf more | dd of=sparse bs=1 seek=30000000 conv=notrunc status=none
rm -r deep; mkdir deep; echo three > deep/three; chown 99:99 symbolic -h; truncate -s 3000000 moved`
/** All that a file has, but not its inode's number: names of one inode have one line. */
const listing = `cd /home/t; find . -printf '%p %y %m %U %G %s %n %l %T@ %b\\n' | sort
find . -type f -exec sha256sum {} + | sort; find . -type f -printf '%i %p\\n' | sort -k 2 |
awk '{ names[$1] = names[$1] " " $2 } END { for (i in names) print names[i] }' | sort
python3 -c "import os
for name in sorted(os.listdir('.')):
  if not os.path.islink(name): print(name, [(a, os.getxattr(name, a)) for a in os.listxattr(name)])"`
