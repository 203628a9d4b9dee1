import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSoak, soakSeed, soakSize } from '../../scripts/soak/sizes.ts'
import { runChurn } from './churn.ts'
import { measureGrowth, type Growth } from './samples.ts'

/*
 * Operations on real machines for a while, without any fault: nothing is left over and no process grows. A short run tells
 * nothing of growth, because a process takes an hour to reach its size: `npm run soak -- churn`.
 */

const seed = soakSeed(2026)
const { hosts, warmUpMinutes, minutes, skippedMinutes } = soakSize('churn')
const most = { megabytesPerHour: 1, descriptors: 5 }
/** Resident memory grows in steps of a few megabytes, so a smaller rise is no slope. */
const stepMegabytes = 5

test(`a server stays as large as it is and leaves nothing (seed ${seed})`, async (t) => {
  const { counts, samples, descriptors, differences } = await runChurn({
    seed,
    hosts,
    warmUpMinutes,
    minutes,
  })
  t.diagnostic(`${counts.operations} operations in ${minutes} minutes, ${counts.retries} retries`)
  const growth = measureGrowth(samples, skippedMinutes)
  for (const { process, resident, held } of growth) {
    const more = `${descriptors.get(process)} descriptors more`
    t.diagnostic(`${process}: resident ${show(resident)}; held ${show(held)}; ${more}`)
  }
  assert.ok(growth.every(({ held }) => Number.isFinite(held.megabytesPerHour)))
  assert.deepEqual(differences, [])
  assert.ok(counts.operations >= minutes * 10)
  assert.deepEqual(
    [...descriptors].filter(([, count]) => count > most.descriptors),
    [],
  )
  if (!isSoak()) return
  assert.deepEqual(
    growth.filter(({ resident, held }) => grows(resident, stepMegabytes) || grows(held, 0)),
    [],
  )
})

function show({ megabytes, megabytesPerHour, uncertainty }: Growth): string {
  const perHour = `${megabytesPerHour.toFixed(2)} ± ${uncertainty.toFixed(2)} MB an hour`
  return `${megabytes.toFixed(1)} MB, ${perHour}`
}

function grows({ megabytesPerHour, uncertainty, hours }: Growth, step: number): boolean {
  const isSlope = megabytesPerHour * hours > step
  return isSlope && megabytesPerHour - uncertainty > most.megabytesPerHour
}
