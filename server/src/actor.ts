import type {
  ApiKeyId,
  ApiKeyScope,
  AuthSessionId,
  HelpRequestId,
  OrganizationId,
  Permission,
  Role,
  UserId,
} from '@computer/contract'

/** The client that sends a request, authenticated or not. */
export type Caller = {
  /** The client's IP address; null if the call did not come over the network. */
  readonly address: string | null
  readonly userAgent: string | null
}

/** An authenticated caller. Having one proves that authentication took place. */
export type Actor = Caller & {
  readonly organizationId: OrganizationId
  readonly principal:
    | { readonly type: 'api_key'; readonly id: ApiKeyId; readonly name: string }
    | { readonly type: 'user'; readonly id: UserId; readonly name: string }
  /** The user, or the user who created the API key. */
  readonly userId: UserId
  /** The browser session of the call; null for an API key. */
  readonly authSessionId: AuthSessionId | null
  readonly role: Role
  readonly scopes: readonly ApiKeyScope[] | null
  readonly permissions: ReadonlySet<Permission>
  /** Set for the guest of a help request, who acts for whoever asked for help. */
  readonly guest?: Guest
}

/** Somebody without an account who opened the takeover link of a help request. */
export type Guest = {
  /** The id of the browser's access, which it got for the link. */
  readonly id: string
  readonly helpRequestId: HelpRequestId
  /** The name of the guest whose session it is. */
  readonly name: string
}
export type GuestActor = Actor & { readonly guest: Guest }

/** A user who is signed in with a browser session. */
export type UserActor = Actor & { readonly authSessionId: AuthSessionId }
