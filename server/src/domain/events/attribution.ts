import type { OrganizationId } from '@computer/contract'
import { sql, type RawBuilder } from 'kysely'
import type { Actor } from '../../actor.ts'
import type { MachineRow, CaptureRow } from '../../db/database.ts'
import type { ActorRef, ActorType, EventFacts, Labels } from '../../db/tables/attribution.ts'

/*
 * Usage is attributed to a caller and to labels. Compute and served bytes count for the caller that set the
 * machine running, its disk for the one that created it, and a captured disk for the one that captured it.
 * An automatic capture counts for the creator of its machine.
 */

type Principal = Pick<Actor, 'principal'>

export function createdBy({ principal }: Principal) {
  return { created_by_type: principal.type, created_by_id: principal.id }
}

export function runBy({ principal }: Principal) {
  return { run_by_type: principal.type, run_by_id: principal.id }
}

export function capturedBy({ principal }: Principal) {
  return { captured_by_type: principal.type, captured_by_id: principal.id }
}

/** The labels that metadata gives a machine of an organization. */
export function labelsFrom(
  organizationId: OrganizationId,
  metadata: Readonly<Record<string, string>>,
): RawBuilder<Labels> {
  return sql`(
    select ${labelsOf(sql`o.label_keys`, sql`${JSON.stringify(metadata)}::jsonb`)}
    from organizations o where o.id = ${organizationId}
  )`
}

/** The part of metadata that has one of the keys. */
export function labelsOf(
  keys: RawBuilder<unknown>,
  metadata: RawBuilder<unknown>,
): RawBuilder<Labels> {
  return sql`(
    select coalesce(jsonb_object_agg(key, value), '{}')
    from jsonb_each(${metadata}) where key = any (${keys})
  )`
}

/** The attribution of a machine, as its events record it. */
export function attributionFacts(machine: MachineRow): EventFacts {
  return {
    ...refAs('created_by', machine.created_by_type, machine.created_by_id),
    ...refAs('run_by', machine.run_by_type, machine.run_by_id),
    ...labelFacts(machine),
  }
}

/** The attribution of a capture of a machine. */
export function captureAttribution(
  machine: MachineRow,
  capture: Pick<CaptureRow, 'captured_by_type' | 'captured_by_id'>,
): EventFacts {
  const { captured_by_type: type, captured_by_id: id } = capture
  return {
    ...refAs('captured_by', type ?? machine.created_by_type, id ?? machine.created_by_id),
    ...labelFacts(machine),
  }
}

function labelFacts({ labels }: MachineRow): EventFacts {
  return Object.keys(labels).length > 0 ? { labels } : {}
}

function refAs<Key extends 'created_by' | 'run_by' | 'captured_by'>(
  key: Key,
  type: ActorType | null,
  id: string | null,
): { readonly [K in Key]?: ActorRef } {
  return type !== null && id !== null
    ? ({ [key]: { type, id } } as { readonly [K in Key]?: ActorRef })
    : {}
}
