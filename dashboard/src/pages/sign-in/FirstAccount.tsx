import { AccountForm, type NewAccount } from './AccountForm.tsx'
import type { User } from './LinkView.tsx'
import { ReplacesSession } from './ReplacesSession.tsx'
import { SignInLayout } from './SignInLayout.tsx'

/** Nobody has set up the account yet: the person who has the link becomes the owner. */
export function FirstAccount({
  organization,
  present,
  onSignIn,
}: {
  readonly organization: string
  readonly present: User | null
  readonly onSignIn: (account: NewAccount) => Promise<void>
}) {
  return (
    <SignInLayout
      title="Set up your account"
      description={
        <>
          You become the owner of <bdi className="font-medium text-fg">{organization}</bdi>, the
          first organization of this server, and of all that its first API key has made.
        </>
      }
    >
      <div className="space-y-4">
        <ReplacesSession present={present} />
        <AccountForm action="Create account" onSubmit={onSignIn} />
      </div>
    </SignInLayout>
  )
}
