import type {
  ApiKeyId,
  ApiKeyScope,
  OrganizationId,
  Permission,
  Role,
  UserId,
} from '@computer/contract'

/** Who makes a call. Holding one proves that authentication took place. */
export type Actor = {
  readonly organizationId: OrganizationId
  readonly principal:
    | { readonly type: 'api_key'; readonly id: ApiKeyId; readonly name: string }
    | { readonly type: 'user'; readonly id: UserId; readonly name: string }
  /** The person behind it: the user, or the creator of the key. */
  readonly userId: UserId
  readonly role: Role
  readonly scopes: readonly ApiKeyScope[] | null
  readonly permissions: ReadonlySet<Permission>
}
