import type { HelpRequest } from '@computer/sdk'
import { useState } from 'react'
import { createHelpLink } from '../../api/help-requests.ts'
import { Button } from '../../ui/Button.tsx'
import { Code } from '../../ui/Code.tsx'
import { copyText } from '../../ui/CopyButton.tsx'
import { Dialog, DialogButtons } from '../../ui/Dialog.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { Moment } from '../../ui/Time.tsx'

/** Makes a link for somebody without an account, and copies it. It is shown this once. */
export function HelpLink({
  help,
  onClose,
}: {
  readonly help: HelpRequest
  readonly onClose: () => void
}) {
  const [link, setLink] = useState<string>()
  const [isCopied, setCopied] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const make = async () => {
    if (isBusy) return
    setBusy(true)
    setError(undefined)
    try {
      const made = await createHelpLink(help)
      setLink(made)
      setCopied(await copyText(made))
    } catch (caught) {
      setError(caught)
    }
    setBusy(false)
  }
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title="A link for somebody without an account"
      sticky={link !== undefined}
    >
      <div className="space-y-3">
        <p className="text-muted">
          The person who opens it first can take over this screen, and nothing else, until{' '}
          <Moment iso={help.expiresAt} />. A new link ends earlier ones, and the access of whoever
          came by them.
        </p>
        {error !== undefined && <ErrorNotice error={error} title="There is no link." />}
        {link !== undefined && (
          <>
            <Code text={link} label="the link" />
            <p role="status">
              {isCopied
                ? 'The link is in your clipboard. It is shown only now.'
                : 'The browser refused to copy the link: copy it by hand. It is shown only now.'}
            </p>
          </>
        )}
      </div>
      <DialogButtons>
        {link === undefined ? (
          <>
            <Button onClick={onClose}>Close</Button>
            <Button look="primary" busy={isBusy} onClick={() => void make()}>
              Make and copy the link
            </Button>
          </>
        ) : (
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        )}
      </DialogButtons>
    </Dialog>
  )
}
