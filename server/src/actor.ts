import type {
  ApiKeyId,
  ApiKeyScope,
  AuthSessionId,
  OrganizationId,
  Permission,
  Role,
  UserId,
} from '@computer/contract'

/** Where a call comes from, whoever makes it. */
export type Caller = {
  /** The client's IP address; null where the call came over no network. */
  readonly address: string | null
  readonly userAgent: string | null
}

/** Who makes a call. Holding one proves that authentication took place. */
export type Actor = Caller & {
  readonly organizationId: OrganizationId
  readonly principal:
    | { readonly type: 'api_key'; readonly id: ApiKeyId; readonly name: string }
    | { readonly type: 'user'; readonly id: UserId; readonly name: string }
  /** The person behind it: the user, or the creator of the key. */
  readonly userId: UserId
  /** The browser session that carries the call; null for a key. */
  readonly authSessionId: AuthSessionId | null
  readonly role: Role
  readonly scopes: readonly ApiKeyScope[] | null
  readonly permissions: ReadonlySet<Permission>
}

/** A person who is signed in with a browser session. */
export type UserActor = Actor & { readonly authSessionId: AuthSessionId }
