import type { CaptureId } from '@computer/contract'
import type { Selectable } from 'kysely'
import type { Schema } from '../../db/database.ts'
import type { ActorRef, Labels } from '../../db/tables/attribution.ts'

/*
 * Meters follow from the event log alone. This file has the rule: the intervals that each event opens
 * and closes. The table of intervals is updated by it as events are inserted (meter-intervals.ts), and
 * can be recomputed from a machine's log at any time.
 *
 * - compute: while the machine is running or stopping. Its guest works until it has stopped.
 * - hot storage: a disk that can be used, from the first time the machine runs or rests stopped until
 *   it is being deleted. A machine that could not be created costs nothing.
 * - cold storage: a capture that is complete, for as long as a snapshot or a template names it and it is not lost. It keeps
 *   the labels that its machine had when it was complete.
 */

type EventRow = Selectable<Schema['machine_events']>
export type MeteredEvent = Pick<EventRow, 'type' | 'to_state' | 'occurred_at' | 'facts'>

type IntervalRow = Selectable<Schema['meter_intervals']>
/** Identifies a metered quantity, which has at most one open interval. */
export type Metered = Pick<IntervalRow, 'meter' | 'capture_id'>
export type Quantity = Metered &
  Pick<IntervalRow, 'size' | 'bytes' | 'actor_type' | 'actor_id' | 'labels'>
export type Interval = Quantity & Pick<IntervalRow, 'started_at' | 'ended_at'>

/**
 * Opening an open interval changes nothing, nor does closing a closed one. To relabel is to close the open
 * intervals of the machine and its disk, and to open the same with other labels.
 */
export type MeterStep =
  | { readonly open: Quantity; readonly close?: undefined; readonly relabel?: undefined }
  | { readonly close: Metered; readonly open?: undefined; readonly relabel?: undefined }
  | { readonly relabel: Labels; readonly open?: undefined; readonly close?: undefined }

/** The steps of an event: closings first, then openings. */
export function meterSteps(event: MeteredEvent): MeterStep[] {
  // An event from before meters existed has no facts and opens nothing.
  const { size, disk_bytes: diskBytes, capture_id: captureId, ...facts } = event.facts ?? {}
  const { bytes = 0, labels = {}, run_by: runBy, created_by: createdBy } = facts
  const openCompute = size ? [openStep({ ...compute, size, labels, ...actorOf(runBy) })] : []
  const openDisk = diskBytes
    ? [openStep({ ...hotStorage, bytes: diskBytes, labels, ...actorOf(createdBy) })]
    : []

  switch (event.to_state) {
    case 'running':
      return [...openCompute, ...openDisk]
    case 'stopping':
      return []
    case 'stopped':
      return [{ close: compute }, ...openDisk]
    case 'deleting':
      return [{ close: compute }, { close: hotStorage }]
    case null:
      if (facts.relabeled) return [{ relabel: labels }]
      if (captureId && event.type === 'snapshot.completed') {
        return [openStep({ ...cold(captureId), bytes, labels, ...actorOf(facts.captured_by) })]
      }
      if (captureId) return [{ close: cold(captureId) }]
      // A resize.
      return diskBytes ? [{ close: hotStorage }, ...openDisk] : []
    default:
      return [{ close: compute }]
  }
}

/** The intervals of a machine, from all its events, oldest first. */
export function replayMeters(events: readonly MeteredEvent[]): Interval[] {
  const intervals: Interval[] = []
  const openAt = new Map<string, number>()
  for (const event of events) {
    for (const { open, close, relabel } of meterSteps(event)) {
      if (relabel) {
        for (const key of [compute, hotStorage].map(keyOf)) reopen(key, relabel, event.occurred_at)
        continue
      }
      const key = keyOf(open ?? close)
      const index = openAt.get(key)
      if (open && index === undefined) {
        openAt.set(key, intervals.length)
        intervals.push({ ...open, started_at: event.occurred_at, ended_at: null })
      }
      if (close && index !== undefined) {
        openAt.delete(key)
        intervals[index] = { ...intervals[index]!, ended_at: event.occurred_at }
      }
    }
  }
  return intervals

  function reopen(key: string, labels: Labels, at: Date): void {
    const index = openAt.get(key)
    if (index === undefined) return
    const before = intervals[index]!
    intervals[index] = { ...before, ended_at: at }
    openAt.set(key, intervals.length)
    intervals.push({ ...before, labels, started_at: at })
  }
}

const compute = { meter: 'compute', capture_id: null } as const
const hotStorage = { meter: 'hot_storage', capture_id: null } as const

function cold(captureId: CaptureId) {
  return { meter: 'cold_storage', capture_id: captureId } as const
}

function actorOf(ref: ActorRef | undefined) {
  return { actor_type: ref?.type ?? null, actor_id: ref?.id ?? null }
}

function openStep(quantity: Metered & Partial<Quantity>): MeterStep {
  const unset = { size: null, bytes: null, actor_type: null, actor_id: null, labels: {} }
  return { open: { ...unset, ...quantity } }
}

function keyOf({ meter, capture_id: captureId }: Metered): string {
  return `${meter} ${captureId ?? ''}`
}
