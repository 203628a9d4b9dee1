import type { HelpOutcome } from '@computer/sdk'
import { useState, type ReactNode } from 'react'
import type { HelpAnswer } from '../../api/help-requests.ts'
import { Button } from '../../ui/Button.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { TextArea } from '../../ui/Field.tsx'

/** The longest that the server accepts. */
const maxCharacters = 4000

/**
 * The answer to a help request: a choice or that it is done, or that it cannot be done, each with a text for the agent. The
 * text stays while another change of the request arrives.
 */
export function AnswerForm({
  choices,
  words,
  disabledReason,
  onAnswer,
  children,
}: {
  readonly choices: readonly string[] | null
  /** The names of the buttons. */
  readonly words: Readonly<Record<HelpOutcome, string>>
  readonly disabledReason?: string | undefined
  /** Shows its error if it rejects. */
  readonly onAnswer: (answer: HelpAnswer) => Promise<unknown>
  /** More buttons. */
  readonly children?: ReactNode
}) {
  const [text, setText] = useState('')
  /** The button whose call is in progress. */
  const [busy, setBusy] = useState<string>()
  const [error, setError] = useState<unknown>()
  const send = async (button: string, answer: HelpAnswer) => {
    if (busy !== undefined) return
    setBusy(button)
    setError(undefined)
    try {
      await onAnswer(text.trim() === '' ? answer : { ...answer, text })
    } catch (caught) {
      setError(caught)
    }
    setBusy(undefined)
  }
  return (
    <div className="space-y-2">
      {choices && (
        <div role="group" aria-label="Answers to choose from" className="flex flex-wrap gap-1.5">
          {choices.map((choice, index) => (
            <Button
              key={index}
              disabledReason={disabledReason}
              busy={busy === `choice ${index}`}
              className="h-auto! min-h-8 py-1 text-left whitespace-normal! wrap-anywhere"
              onClick={() => void send(`choice ${index}`, { outcome: 'done', choice })}
            >
              <bdi className="min-w-0">{choice}</bdi>
            </Button>
          ))}
        </div>
      )}
      <TextArea
        label="Words for the agent (optional)"
        name="text"
        rows={1}
        maxLength={maxCharacters}
        autoComplete="off"
        dir="auto"
        value={text}
        onValueChange={setText}
      />
      {error !== undefined && <ErrorNotice error={error} title="The answer was not sent." />}
      <div className="flex flex-wrap gap-1.5">
        <Button
          look="primary"
          disabledReason={disabledReason}
          busy={busy === 'done'}
          onClick={() => void send('done', { outcome: 'done' })}
        >
          {words.done}
        </Button>
        <Button
          disabledReason={disabledReason}
          busy={busy === 'declined'}
          onClick={() => void send('declined', { outcome: 'declined' })}
        >
          {words.declined}
        </Button>
        {children}
      </div>
    </div>
  )
}
