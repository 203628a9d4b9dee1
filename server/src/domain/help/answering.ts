import type { HelpAnswer, HelpRequestId } from '@computer/contract'
import { conflict, invalid } from '../../errors.ts'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import type { HelpRow } from '../../db/database.ts'
import { makeBrief, storeBrief } from './brief.ts'
import { endHolding, endRequest, pushEnd } from './holding.ts'
import { noteHelp } from './notices.ts'
import { hasTaken, personOf } from './people.ts'
import { getHelp, isWaiting, lockHelp, publishHelp } from './requests.ts'
import { requireUntaken } from './taking.ts'

type HelpApp = Pick<App, 'db' | 'guests' | 'changes' | 'log'>

/** Hands the machine back with an answer. One that nobody has taken may be answered by anybody, and has no brief. */
export async function answerHelp(
  app: HelpApp,
  actor: Actor,
  id: HelpRequestId,
  answer: HelpAnswer,
): Promise<HelpRow> {
  const found = await getHelp(app.db, actor, id)
  requireChoice(found, answer)
  if (isWaiting(found)) requireUntaken(actor, found)
  // The person still has the screen, so what is read is what they hand back.
  const brief = hasTaken(actor, found) ? await makeBrief(app, found) : null
  const { before, help } = await app.db.transaction().execute(async (tx) => {
    const locked = await lockHelp(tx, actor, id)
    requireUntaken(actor, locked)
    const isSame = locked.session_id === found.session_id
    if (brief && isSame) await storeBrief(tx, locked, brief)
    const { type, id: personId, name } = personOf(actor)
    await tx
      .updateTable('help_requests')
      .set({
        answer_text: answer.text ?? null,
        choice: answer.choice ?? null,
        answered_by_type: type,
        answered_by_id: personId,
        answered_by_name: name,
      })
      .where('id', '=', id)
      .execute()
    await noteHelp(tx, locked, 'help.answered', personOf(actor), { outcome: answer.outcome })
    const message = 'the help request was answered'
    return {
      before: locked,
      help: await endRequest(tx, locked, { state: answer.outcome, message }),
    }
  })
  publishHelp(app, help)
  await pushEnd(app, before)
  return help
}

/** Gives the machine back without an answer: somebody else can take the request. */
export async function releaseHelp(app: HelpApp, actor: Actor, id: HelpRequestId): Promise<HelpRow> {
  const before = await app.db.transaction().execute(async (tx) => {
    const locked = await lockHelp(tx, actor, id)
    requireUntaken(actor, locked)
    if (!hasTaken(actor, locked)) throw conflict(`nobody has taken help request ${id}`)
    await noteHelp(tx, locked, 'help.released', personOf(actor))
    await endHolding(tx, locked, 'the help request was left without an answer')
    return locked
  })
  publishHelp(app, before)
  await pushEnd(app, before)
  return getHelp(app.db, actor, id)
}

/** Ends a request that is no longer needed, whoever has it. */
export async function cancelHelp(app: HelpApp, actor: Actor, id: HelpRequestId): Promise<HelpRow> {
  const { before, help } = await app.db.transaction().execute(async (tx) => {
    const locked = await lockHelp(tx, actor, id)
    await noteHelp(tx, locked, 'help.cancelled', personOf(actor))
    const message = 'the help request was cancelled'
    return { before: locked, help: await endRequest(tx, locked, { state: 'cancelled', message }) }
  })
  publishHelp(app, help)
  await pushEnd(app, before)
  return help
}

function requireChoice({ choices }: HelpRow, { outcome, choice }: HelpAnswer): void {
  if (choice === undefined) return
  const isOne = choices?.includes(choice) && outcome === 'done'
  if (isOne) return
  const message = choices
    ? `must be one of the choices, with the outcome done: ${choices.join(', ')}`
    : 'must be left out: the request has no choices'
  throw invalid(`body: choice: ${message}`, [{ field: 'choice', message }])
}
