import type { User } from './LinkView.tsx'

/** Somebody is signed in to this browser already. */
export function ReplacesSession({ present }: { readonly present: User | null }) {
  if (!present) return null
  return (
    <p className="rounded-lg bg-warn-soft p-3 break-words">
      This browser is signed in as <bdi className="font-medium break-all">{present.email}</bdi>.
      This link replaces that sign-in, in all tabs.
    </p>
  )
}
