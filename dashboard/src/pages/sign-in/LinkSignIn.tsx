import type { LoginLink } from '@computer/sdk'
import { Button } from '../../ui/Button.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { useForm } from '../../ui/use-form.ts'
import type { User } from './LinkView.tsx'
import { EmailText } from './EmailText.tsx'
import { ReplacesSession } from './ReplacesSession.tsx'
import { SignInFacts } from './SignInFacts.tsx'
import { SignInLayout } from './SignInLayout.tsx'

/** One button instead of a password. */
export function LinkSignIn({
  account,
  organization,
  present,
  onSignIn,
}: {
  readonly account: NonNullable<LoginLink['account']>
  readonly organization: string
  readonly present: User | null
  readonly onSignIn: () => Promise<void>
}) {
  const form = useForm([], onSignIn)
  return (
    <SignInLayout
      title="Sign in with this link"
      description="The operator of this server made it. It works once, without a password."
    >
      <form onSubmit={form.submit} className="space-y-4">
        <SignInFacts
          facts={[
            {
              label: 'Account',
              value: <EmailText email={account.email} />,
            },
            { label: 'Organization', value: <bdi className="font-medium">{organization}</bdi> },
          ]}
        />
        <ReplacesSession present={present} />
        {form.error !== undefined && <ErrorNotice error={form.error} />}
        <Button type="submit" look="primary" busy={form.isBusy} className="w-full">
          <bdi className="truncate">Sign in as {account.name}</bdi>
        </Button>
      </form>
    </SignInLayout>
  )
}
