import { ApiError } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { loginLinkQuery, signInWithLink } from '../../api/auth.ts'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import type { NewAccount } from './AccountForm.tsx'
import { EndedLoginLink } from './EndedLoginLink.tsx'
import { FirstAccount } from './FirstAccount.tsx'
import { useLinkToken } from './link-token.ts'
import { LinkSignIn } from './LinkSignIn.tsx'
import { LinkView } from './LinkView.tsx'

/** A sign-in link that the operator printed: makes the first account, or signs one in. */
export function WelcomePage() {
  const token = useLinkToken()
  if (token !== null) return <SignInLink key={token} token={token} />
  return (
    <EndedLoginLink>
      <p>This address has no token. Open the printed link again, in full.</p>
    </EndedLoginLink>
  )
}

function SignInLink({ token }: { readonly token: string }) {
  const query = useQuery(loginLinkQuery(token))
  const [refusal, setRefusal] = useState<unknown>()
  const ended = [refusal, query.error].find(isEnded)
  if (ended)
    return (
      <EndedLoginLink>
        <ErrorNotice error={ended} />
      </EndedLoginLink>
    )
  const signIn = async (account?: NewAccount) => {
    try {
      await signInWithLink({ token, ...(account && { account }) })
    } catch (error) {
      if (!isEnded(error)) throw error
      setRefusal(error)
    }
  }
  return (
    <LinkView title="Welcome" query={query}>
      {({ account, organization: { name } }, present) =>
        account ? (
          <LinkSignIn
            account={account}
            organization={name}
            present={present}
            onSignIn={() => signIn()}
          />
        ) : (
          <FirstAccount organization={name} present={present} onSignIn={signIn} />
        )
      }
    </LinkView>
  )
}

/** The link was used or has expired, perhaps since the page was opened. */
function isEnded(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'not_found'
}
