import type { CaptureId, MachineSize } from '@computer/contract'

/** A caller as usage names it. */
export type ActorType = 'user' | 'api_key'
export type ActorRef = { readonly type: ActorType; readonly id: string }

/** The part of a machine's metadata that its organization counts usage by. */
export type Labels = Readonly<Record<string, string>>

/** The facts that an event records beside those that users see. The log alone determines the meters. */
export type EventFacts = {
  /** The size of the machine. */
  readonly size?: MachineSize
  readonly disk_bytes?: number
  readonly created_by?: ActorRef
  readonly run_by?: ActorRef
  readonly labels?: Labels
  /** The labels changed, and nothing else that is counted. */
  readonly relabeled?: true
  /** The capture that is kept from now on, or no longer named. */
  readonly capture_id?: CaptureId
  readonly bytes?: number
  readonly captured_by?: ActorRef
}
