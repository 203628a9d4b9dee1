import { Link } from '@tanstack/react-router'
import { useEffect, type ReactNode } from 'react'
import { Code } from '../../ui/Code.tsx'
import { forgetLinkToken } from './link-token.ts'
import { linkLook, SignInLayout } from './SignInLayout.tsx'

/** A sign-in link that was used or has expired: only the operator of the server can print another. */
export function EndedLoginLink({ children }: { readonly children: ReactNode }) {
  useEffect(forgetLinkToken, [])
  return (
    <SignInLayout
      title="This link does not work"
      footer={
        <Link to="/login" className={linkLook}>
          Sign in with a password
        </Link>
      }
    >
      <div className="space-y-3">
        {children}
        <p>
          A sign-in link works once, within ten minutes. On the server, its operator prints a new
          one:
        </p>
        <Code text="computer admin login-link" label="command for the operator" />
      </div>
    </SignInLayout>
  )
}
