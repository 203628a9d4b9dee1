import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../../e2e/harness/polling.ts'
import { deleteSnapshot, takeSnapshot, withBoth, type Baseline } from '../disks.ts'
import { polling, shell, type Machine } from '../machine.ts'
import type { Sample } from '../measure.ts'
import { compareSides, type Bench, type BenchContext } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/**
 * A snapshot from the request until it is ready, while the machine writes 500 files a second without
 * syncing. Ours is of one instant, so every file in it must be complete. The engine's own snapshot does not
 * promise that; its failures are counted.
 */
export const bench: Bench = {
  name: 's06-snapshot',
  title: 'snapshot accepted → ready',
  run: (context) =>
    withBoth(context, 's06', async (machine, baseline) => {
      const { api, plan, say } = context
      await api.ok('PUT', `/v1/machines/${machine.id}/files/content`, {
        path: '/home/agent/writer.py',
        content: writer,
      })
      const launch = 'setsid python3 writer.py </dev/null >/dev/null 2>&1 &'
      await shell(api, machine.id, launch)
      await baseline.shell(`cat > writer.py <<'END'\n${writer}\nEND\n${launch}`)
      const sides = {
        baseline: (round: number) => snapshotBaseline(context, baseline, round),
        ours: (round: number) => snapshot(context, machine, round),
      }
      const target = { ratio: 2, p50Ms: 250 }
      const rounds = await runRounds(sides, plan.slow, say)
      const row = { id: 'S6', ours: 'snapshot → ready', baseline: 'incus snapshot', target }
      return [compareSides(rounds, { baseline: 'baseline', ours: 'ours' }, row)]
    }),
}

/** Renames each file to its name when it is complete, and keeps the newest 2,000. */
const writer = `
import os, time
os.makedirs('written', exist_ok=True)
number, begun = 0, time.monotonic()
while True:
    with open('written/new', 'w') as out:
        out.write('%08d' % number * 64)
    os.rename('written/new', 'written/%08d' % number)
    if number >= 2000:
        os.remove('written/%08d' % (number - 2000))
    number += 1
    time.sleep(max(0, begun + number / 500 - time.monotonic()))
`

async function snapshot(
  { api, dataDir }: BenchContext,
  { id }: Machine,
  round: number,
): Promise<Sample> {
  const containers = join(poolOf(dataDir), 'containers')
  await shell(api, id, `echo before-${round} > marker`)
  const before = new Set(await readdir(containers))
  const { ms, result } = await time(() => takeSnapshot(api, id))
  try {
    const made = (await readdir(containers)).filter((name) => !before.has(name))
    if (made.length !== 1) return { ms, wrong: `${made.length} captures exist instead of 1` }
    return { ms, wrong: await check(join(containers, made[0]!, 'rootfs/home/agent'), round) }
  } finally {
    await deleteSnapshot(api, result)
    const isGone = async () => (await readdir(containers)).length <= before.size
    await eventually('the capture is gone', isGone, polling)
  }
}

async function snapshotBaseline(
  { dataDir, incus }: BenchContext,
  { name, run, shell: inside }: Baseline,
  round: number,
): Promise<Sample> {
  const snapshots = join(poolOf(dataDir), 'containers-snapshots', `${incus.project}_${name}`)
  await inside(`echo before-${round} > marker`)
  const { ms } = await time(() => run('snapshot', 'create', name, 'taken'))
  try {
    return { ms, wrong: await check(join(snapshots, 'taken/rootfs/root'), round) }
  } finally {
    await run('snapshot', 'delete', name, 'taken')
  }
}

/** Reads the copy in the engine's pool. */
async function check(home: string, round: number): Promise<string | undefined> {
  const marker = await readFile(join(home, 'marker'), 'utf8').catch(() => '')
  if (marker !== `before-${round}\n`) return `the marker is ${JSON.stringify(marker)}`
  const names = (await readdir(join(home, 'written'))).filter((name) => name !== 'new')
  if (names.length === 0) return 'no file was written'
  for (const name of names) {
    const text = await readFile(join(home, 'written', name), 'utf8')
    if (text !== name.repeat(64)) return `a file has ${text.length} of ${name.length * 64} bytes`
  }
  return undefined
}

function poolOf(dataDir: string): string {
  return join(dataDir, 'engine', 'storage-pools', 'default')
}
