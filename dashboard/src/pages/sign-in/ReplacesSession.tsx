import { EmailText } from './EmailText.tsx'
import type { User } from './LinkView.tsx'

/** Somebody is signed in to this browser already. */
export function ReplacesSession({ present }: { readonly present: User | null }) {
  if (!present) return null
  return (
    <p className="rounded-lg bg-warn-soft p-3 break-words">
      This browser is signed in as <EmailText email={present.email} />. This link replaces that
      sign-in, in all tabs.
    </p>
  )
}
