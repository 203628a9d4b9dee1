import type { HelpRequest } from '@computer/sdk'
import { answerHelp } from '../../api/help-requests.ts'
import { Dialog } from '../../ui/Dialog.tsx'
import { notify } from '../../ui/notify.ts'
import { AnswerForm } from './AnswerForm.tsx'
import { HelpMessage } from './HelpMessage.tsx'

const words = { done: 'Done', declined: 'Cannot do it' }

/** Answers a request without its screen, such as a question or an approval. */
export function AnswerHelp({
  help,
  onClose,
}: {
  readonly help: HelpRequest
  readonly onClose: () => void
}) {
  const answer = async (given: Parameters<typeof answerHelp>[1]) => {
    await answerHelp(help, given)
    notify('The agent has your answer')
    onClose()
  }
  return (
    <Dialog open onOpenChange={onClose} title="Answer the agent">
      <div className="space-y-4">
        <HelpMessage text={help.message} />
        <AnswerForm choices={help.choices} words={words} onAnswer={answer} />
      </div>
    </Dialog>
  )
}
