import { Auth } from './auth.ts'
import { Billing, Plans, Usage } from './billing.ts'
import { Budgets } from './budgets.ts'
import { Client } from './client.ts'
import { OrganizationActivity } from './activity.ts'
import { Events } from './events.ts'
import { HelpGuest } from './help-guest.ts'
import { HelpRequests } from './help-requests.ts'
import { Machines } from './machines.ts'
import { configure, type CallOptions, type ComputerOptions } from './options.ts'
import {
  OrganizationPorts,
  OrganizationSecrets,
  ApiKeys,
  AuditEvents,
  Images,
  Invitations,
  Members,
  Organizations,
} from './organization.ts'
import type { Sessions } from './sessions.ts'
import { Snapshots } from './snapshots.ts'
import { Templates } from './templates.ts'
import type { Principal } from './wire/records.ts'
import { Webhooks } from './webhooks.ts'

/**
 * A client of a Computer server.
 *
 *     const computer = new Computer()
 *     const machine = await computer.machines.create({ name: 'first' })
 *
 * Disposing of it (`await using`) closes what it opened, as `close` does. Machines are not affected.
 */
export class Computer {
  readonly machines: Machines
  readonly snapshots: Snapshots
  readonly templates: Templates
  readonly images: Images
  readonly sessions: Sessions
  readonly ports: OrganizationPorts
  readonly secrets: OrganizationSecrets
  readonly events: Events
  readonly activity: OrganizationActivity
  readonly helpRequests: HelpRequests
  readonly helpGuest: HelpGuest
  readonly apiKeys: ApiKeys
  readonly members: Members
  readonly invitations: Invitations
  readonly organizations: Organizations
  readonly auditEvents: AuditEvents
  readonly plans: Plans
  readonly usage: Usage
  readonly billing: Billing
  readonly budgets: Budgets
  readonly webhooks: Webhooks
  readonly auth: Auth
  readonly #client: Client

  constructor(options: ComputerOptions = {}) {
    const client = new Client(configure(options), options.sessionType ?? 'agent')
    const { transport } = client
    this.#client = client
    this.machines = new Machines(client)
    this.snapshots = new Snapshots(client)
    this.templates = new Templates(client)
    this.images = new Images(transport)
    this.sessions = client.sessions
    this.ports = new OrganizationPorts(transport)
    this.secrets = new OrganizationSecrets(transport)
    this.events = new Events(client)
    this.activity = new OrganizationActivity(client)
    this.helpRequests = new HelpRequests(client)
    this.helpGuest = new HelpGuest(client)
    this.apiKeys = new ApiKeys(transport)
    this.members = new Members(transport)
    this.invitations = new Invitations(transport)
    this.organizations = new Organizations(transport)
    this.auditEvents = new AuditEvents(transport)
    this.plans = new Plans(transport)
    this.usage = new Usage(transport)
    this.billing = new Billing(transport)
    this.budgets = new Budgets(transport)
    this.webhooks = new Webhooks(transport)
    this.auth = new Auth(transport)
  }

  /** The caller, its organization and its permissions. */
  async me(options: CallOptions = {}): Promise<Principal> {
    return this.auth.me(options)
  }

  /**
   * Gives back the input leases, closes the sessions and screens, and ends the subscriptions to events.
   * `await using` does it too.
   */
  async close(): Promise<void> {
    await this.#client[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
