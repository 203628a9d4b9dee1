import { deleteSnapshot, takeSnapshot, withBoth, type Baseline } from '../disks.ts'
import { shell, type Machine } from '../machine.ts'
import type { Sample } from '../measure.ts'
import { compareSides, type Bench, type BenchContext } from '../row.ts'
import { runRounds, time } from '../rounds.ts'

/**
 * A restore of a running machine until the first command has answered. Ours first captures the current
 * disk, which the baseline discards. A megabyte of random bytes must come back.
 */
export const bench: Bench = {
  name: 's07-restore',
  title: 'restore of a running machine → exec',
  run: (context) =>
    withBoth(context, 's07', async (machine, baseline) => {
      const { api, plan, say } = context
      const sum = await shell(api, machine.id, prepare)
      const snapshotId = await takeSnapshot(api, machine.id)
      const baselineSum = await baseline.shell(prepare)
      await baseline.run('snapshot', 'create', baseline.name, 'taken')
      const sides = {
        baseline: () => restoreBaseline(baseline, baselineSum),
        ours: () => restore(context, machine, { snapshotId, sum }),
      }
      const target = { ratio: 1.2 }
      const rounds = await runRounds(sides, plan.slow, say)
      const row = {
        id: 'S7',
        ours: 'restore with Before restore → exec',
        baseline: 'incus stop, restore, start, exec',
        target,
      }
      return [compareSides(rounds, { baseline: 'baseline', ours: 'ours' }, row)]
    }),
}

const readDisk = 'sha256sum bytes; cat later 2>/dev/null || true'
const prepare = `head -c 1M /dev/urandom > bytes; ${readDisk}`
const change = 'head -c 1M /dev/urandom > bytes; echo later > later'

async function restore(
  { api }: BenchContext,
  { id }: Machine,
  before: { readonly snapshotId: string; readonly sum: string },
): Promise<Sample> {
  await shell(api, id, change)
  const { ms, result } = await time(async () => {
    const body = { snapshot_id: before.snapshotId }
    await api.ok('POST', `/v1/machines/${id}/restore?wait=120`, body)
    return shell(api, id, readDisk)
  })
  await deleteBeforeRestore({ api }, id)
  return { ms, wrong: check(result, before.sum) }
}

/** Deletes the automatic snapshot, so that every round starts with the same number of them. */
async function deleteBeforeRestore({ api }: Pick<BenchContext, 'api'>, id: string): Promise<void> {
  const path = `/v1/snapshots?machine_id=${id}&limit=1`
  const { data } = await api.ok<{ data: { id: string; name: string }[] }>('GET', path)
  if (data[0]?.name !== 'Before restore')
    throw new Error('the restore took no Before restore snapshot')
  await deleteSnapshot(api, data[0].id)
}

async function restoreBaseline(
  { name, run, shell: inside }: Baseline,
  sum: string,
): Promise<Sample> {
  await inside(change)
  const { ms, result } = await time(async () => {
    await run('stop', name)
    await run('snapshot', 'restore', name, 'taken')
    await run('start', name)
    return inside(readDisk)
  })
  return { ms, wrong: check(result, sum) }
}

function check(output: string, sum: string): string | undefined {
  return output === sum ? undefined : `the disk has ${JSON.stringify(output)}`
}
