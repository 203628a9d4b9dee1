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
  InvitationLookup,
  Membership,
  Organization,
  Preview,
  Role,
  Secret,
} from './wire/records.ts'

/* The resources of an organization that need no more than plain API calls. */

export class ApiKeys {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Returns the secret of the key, which cannot be read again. */
  async create(body: Body<'POST /v1/api-keys'>, options: CallOptions = {}): Promise<CreatedApiKey> {
    return this.#transport.call('POST /v1/api-keys', { body, creates: true }, options)
  }

  /** Newest first, including revoked keys. */
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

  /** Invites a person by email. The invitation can be used once, within 7 days. */
  async create(
    body: Body<'POST /v1/invitations'>,
    options: CallOptions = {},
  ): Promise<CreatedInvitation> {
    return this.#transport.call('POST /v1/invitations', { body, creates: true }, options)
  }

  /** Pending invitations, unless `state` says otherwise. */
  list({ signal, ...query }: Query<'GET /v1/invitations'> & CallOptions = {}): List<Invitation> {
    return this.#transport.list('GET /v1/invitations', { query }, { signal })
  }

  async revoke(invitationId: string, options: CallOptions = {}): Promise<Invitation> {
    const params = { invitationId }
    return this.#transport.call('DELETE /v1/invitations/{invitation_id}', { params }, options)
  }

  /** What an invitation is for, by the token of its link. Requires no credential. */
  async lookup(token: string, options: CallOptions = {}): Promise<InvitationLookup> {
    const input = { body: { token } }
    return this.#transport.call('POST /v1/invitations/lookup', input, {
      isRepeatable: true,
      ...options,
    })
  }

  /** Accepts an invitation sent to the address of the signed-in person. */
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

  /** Deletes it once it has no machines, snapshots and templates left. Its members and keys lose it. */
  async delete(organizationId: string, options: CallOptions = {}): Promise<void> {
    const params = { organizationId }
    await this.#transport.call('DELETE /v1/organizations/{organization_id}', { params }, options)
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

  /** Newest first. */
  list({ signal, ...query }: Query<'GET /v1/audit-events'> & CallOptions = {}): List<AuditEvent> {
    return this.#transport.list('GET /v1/audit-events', { query }, { signal })
  }
}

/** The images that machines can be created from. */
export class Images {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  list({ signal, ...query }: PageOptions & CallOptions = {}): List<Image> {
    return this.#transport.list('GET /v1/images', { query }, { signal })
  }
}

/** All published ports of the organization. Publish with `machine.ports`. */
export class OrganizationPorts {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  list({ signal, ...query }: PageOptions & CallOptions = {}): List<Preview> {
    return this.#transport.list('GET /v1/ports', { query }, { signal })
  }
}

/** The names of all secrets of the organization. Store with `machine.secrets`. */
export class OrganizationSecrets {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  list({ signal, ...query }: PageOptions & CallOptions = {}): List<Secret & { machineId: string }> {
    return this.#transport.list('GET /v1/secrets', { query }, { signal })
  }
}
