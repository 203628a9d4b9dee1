import type { HelpReason } from '@computer/sdk'
import { useId, useState, type ReactNode } from 'react'
import type { HelpAnswer } from '../../api/help-requests.ts'
import { Button } from '../../ui/Button.tsx'
import { ChevronDown, ChevronUp, Lock } from '../../ui/icons.ts'
import { AnswerForm } from './AnswerForm.tsx'
import { privateNote, reasonText } from './help-words.ts'
import { HelpMessage } from './HelpMessage.tsx'

/** The request as the bar shows it. */
export type AskedHelp = {
  readonly reason: HelpReason
  readonly message: string
  readonly choices: readonly string[] | null
  readonly private: boolean
}

const words = { done: 'Hand back: done', declined: 'Cannot do it: declined' }

/** Above the screen, for the person who has it for a help request: what is asked, and the ways to hand it back. */
export function HelpBar({
  help,
  askedBy,
  onAnswer,
  onRelease,
  isReleasing,
}: {
  readonly help: AskedHelp
  readonly askedBy: string
  readonly onAnswer: (answer: HelpAnswer) => Promise<unknown>
  readonly onRelease: () => void
  readonly isReleasing: boolean
}) {
  return (
    <HelpFrame
      help={help}
      title={
        <>
          You have it for <bdi>{askedBy}</bdi>
        </>
      }
    >
      {help.private && (
        <p className="flex items-start gap-1.5 text-[13px] text-muted">
          <Lock className="mt-0.5 size-3.5 shrink-0" aria-hidden />
          {privateNote}
        </p>
      )}
      <AnswerForm choices={help.choices} words={words} onAnswer={onAnswer}>
        <Button look="ghost" busy={isReleasing} onClick={onRelease}>
          Leave it open
        </Button>
      </AnswerForm>
    </HelpFrame>
  )
}

/** A request in a bar above the screen, which can be folded where it takes too much of a small one. */
export function HelpFrame({
  help: { reason, message },
  title,
  children,
}: {
  readonly help: Pick<AskedHelp, 'reason' | 'message'>
  readonly title: ReactNode
  readonly children: ReactNode
}) {
  const id = useId()
  const [isFolded, setFolded] = useState(false)
  return (
    <section
      aria-label="Help request"
      className="max-h-[60vh] shrink-0 overflow-y-auto border-b border-line bg-raised px-3 py-2"
    >
      <div className="flex items-start gap-2">
        <p className="min-w-0 flex-1 py-1 text-[13px] wrap-anywhere text-muted">
          <bdi>{reasonText(reason)}</bdi> · {title}
        </p>
        <Button
          look="ghost"
          size="small"
          label={isFolded ? 'Show the request' : 'Fold the request'}
          icon={isFolded ? <ChevronDown /> : <ChevronUp />}
          aria-expanded={!isFolded}
          aria-controls={id}
          onClick={() => setFolded(!isFolded)}
        />
      </div>
      {/* Folded, it keeps what was typed. */}
      <div id={id} hidden={isFolded} className="space-y-2">
        <HelpMessage text={message} />
        {children}
      </div>
    </section>
  )
}
