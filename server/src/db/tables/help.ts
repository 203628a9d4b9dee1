import type {
  GuestBrief,
  HelpBrief,
  HelpPerson,
  HelpReason,
  HelpRequestId,
  HelpState,
  MachineId,
  OrganizationId,
  SessionId,
  UserId,
} from '@computer/contract'
import type { ColumnType, Generated } from 'kysely'
import type { At } from './at.ts'

/** Written as text, see storable-json.ts. */
type Json<Value> = ColumnType<Value | null, string | undefined, string>

/** Help requests, the links and the guests of each, and its pictures. */
export type HelpTables = {
  help_requests: {
    id: HelpRequestId
    organization_id: OrganizationId
    machine_id: MachineId
    state: Generated<HelpState>
    reason: HelpReason
    message: string
    choices: string[] | null
    private: boolean
    assignee_id: UserId | null
    assignee_name: string | null
    requested_by_type: 'user' | 'api_key'
    requested_by_id: string
    requested_by_name: string
    taken_by_type: HelpPerson['type'] | null
    taken_by_id: string | null
    taken_by_name: string | null
    session_id: SessionId | null
    answer_text: string | null
    choice: string | null
    answered_by_type: HelpPerson['type'] | null
    answered_by_id: string | null
    answered_by_name: string | null
    before: Json<Pick<GuestBrief, 'now_ms' | 'windows' | 'clipboard_mark'>>
    brief: Json<HelpBrief>
    is_mailed: Generated<boolean>
    created_at: At
    taken_at: Date | null
    ended_at: Date | null
    expires_at: Date
  }
  help_links: { token_hash: Buffer; help_request_id: HelpRequestId }
  help_guests: { id: string; token_hash: Buffer; help_request_id: HelpRequestId }
  help_pictures: { help_request_id: HelpRequestId; moment: 'before' | 'after'; image: Buffer }
}
