import type { Client } from './client.ts'
import { followByCursor, type SubscribeOptions, type Subscription } from './feed.ts'
import type { CallOptions } from './options.ts'
import type { List } from './pages.ts'
import type { Query } from './transport.ts'
import type { Activity } from './wire/records.ts'

export type ActivityFilter = Query<'GET /v1/machines/{machine_id}/activity'>

/** An entry of the activity log. Pass its `cursor` as `after` to resume there. */
export type FollowedActivity = Activity & { readonly cursor: string }

/** What was done with a machine: input, commands, files, previews, secrets. Kept for 30 days. */
export class MachineActivity {
  readonly #client: Client
  readonly #machineId: string

  constructor(client: Client, machineId: string) {
    this.#client = client
    this.#machineId = machineId
  }

  /** The past, newest first: all, or entries of one or several types. */
  list({ signal, ...query }: ActivityFilter & CallOptions = {}): List<Activity> {
    const params = { machineId: this.#machineId }
    return this.#client.transport.list(
      'GET /v1/machines/{machine_id}/activity',
      { params, query },
      { signal },
    )
  }

  /** What is done from now on, or after an entry of an earlier subscription. Requires WebSockets. */
  subscribe(
    options: SubscribeOptions & { readonly after?: string | undefined } = {},
  ): Subscription<FollowedActivity> {
    return followByCursor(this.#client, `/v1/machines/${this.#machineId}/activity`, options)
  }
}

/** What is done with all machines of the organization. Requires WebSockets. */
export class OrganizationActivity {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** What is done from now on, or after an entry of an earlier subscription. */
  subscribe(
    options: SubscribeOptions & { readonly after?: string | undefined } = {},
  ): Subscription<FollowedActivity> {
    return followByCursor(this.#client, '/v1/activity', options)
  }
}
