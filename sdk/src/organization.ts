import type { CallOptions } from './options.ts'
import type { List, PageOptions } from './pages.ts'
import type { Body, Query, Transport } from './transport.ts'
import type {
  ApiKey,
  AuditEvent,
  CreatedApiKey,
  CreatedInvitation,
  Image,
  Invitation,
  Membership,
  Organization,
  Preview,
  Role,
  Secret,
} from './wire/records.ts'

/** Small resources of the organization: plain calls, as the API has them. */

export class ApiKeys {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Its secret is in this answer alone. */
  async create(body: Body<'POST /v1/api-keys'>, options: CallOptions = {}): Promise<CreatedApiKey> {
    return this.#transport.call('POST /v1/api-keys', { body, creates: true }, options)
  }

  /** Newest first, revoked ones too. */
  list({ signal, ...query }: PageOptions & CallOptions = {}): List<ApiKey> {
    return this.#transport.list('GET /v1/api-keys', { query }, { signal })
  }

  async revoke(apiKeyId: string, options: CallOptions = {}): Promise<ApiKey> {
    return this.#transport.call(
      'DELETE /v1/api-keys/{api_key_id}',
      { params: { apiKeyId } },
      options,
    )
  }
}

export class Members {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  list({ signal, ...query }: PageOptions & CallOptions = {}): List<Membership> {
    return this.#transport.list('GET /v1/members', { query }, { signal })
  }

  async update(membershipId: string, role: Role, options: CallOptions = {}): Promise<Membership> {
    const input = { params: { membershipId }, body: { role } }
    return this.#transport.call('PATCH /v1/members/{membership_id}', input, options)
  }

  async remove(membershipId: string, options: CallOptions = {}): Promise<void> {
    const params = { membershipId }
    await this.#transport.call('DELETE /v1/members/{membership_id}', { params }, options)
  }
}

export class Invitations {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Invites a person by email, for 7 days and one use. */
  async create(
    body: Body<'POST /v1/invitations'>,
    options: CallOptions = {},
  ): Promise<CreatedInvitation> {
    return this.#transport.call('POST /v1/invitations', { body, creates: true }, options)
  }

  /** The pending ones unless another state is named. */
  list({ signal, ...query }: Query<'GET /v1/invitations'> & CallOptions = {}): List<Invitation> {
    return this.#transport.list('GET /v1/invitations', { query }, { signal })
  }

  async revoke(invitationId: string, options: CallOptions = {}): Promise<Invitation> {
    const params = { invitationId }
    return this.#transport.call('DELETE /v1/invitations/{invitation_id}', { params }, options)
  }

  /** Accepts an invitation of the address of the person who is signed in. */
  async accept(token: string, options: CallOptions = {}) {
    return this.#transport.call('POST /v1/invitations/accept', { body: { token } }, options)
  }
}

export class Organizations {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async create(name: string, options: CallOptions = {}): Promise<Organization> {
    return this.#transport.call(
      'POST /v1/organizations',
      { body: { name }, creates: true },
      options,
    )
  }

  async rename(
    organizationId: string,
    name: string,
    options: CallOptions = {},
  ): Promise<Organization> {
    const input = { params: { organizationId }, body: { name } }
    return this.#transport.call('PATCH /v1/organizations/{organization_id}', input, options)
  }

  async leave(organizationId: string, options: CallOptions = {}): Promise<void> {
    const params = { organizationId }
    await this.#transport.call(
      'POST /v1/organizations/{organization_id}/leave',
      { params },
      options,
    )
  }
}

export class AuditEvents {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Who did what, newest first. */
  list({ signal, ...query }: Query<'GET /v1/audit-events'> & CallOptions = {}): List<AuditEvent> {
    return this.#transport.list('GET /v1/audit-events', { query }, { signal })
  }
}

/** What machines are made from. */
export class Images {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  list({ signal, ...query }: PageOptions & CallOptions = {}): List<Image> {
    return this.#transport.list('GET /v1/images', { query }, { signal })
  }
}

/** Every published port of the organization; publish with `machine.ports`. */
export class AllPorts {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  list({ signal, ...query }: PageOptions & CallOptions = {}): List<Preview> {
    return this.#transport.list('GET /v1/ports', { query }, { signal })
  }
}

/** The name of every secret of the organization; store with `machine.secrets`. */
export class AllSecrets {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  list({ signal, ...query }: PageOptions & CallOptions = {}): List<Secret & { machineId: string }> {
    return this.#transport.list('GET /v1/secrets', { query }, { signal })
  }
}
