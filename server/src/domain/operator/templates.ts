import type { TemplateId } from '@computer/contract'
import type { Database, TemplateRow } from '../../db/database.ts'
import { ApiError, notFound } from '../../errors.ts'

/** Keeps this many machines of a template of any organization warm. */
export async function setWarm(db: Database, id: TemplateId, count: number): Promise<TemplateRow> {
  return db.transaction().execute(async (tx) => {
    const template = await tx
      .selectFrom('templates')
      .selectAll()
      .where('id', '=', id)
      .forUpdate()
      .executeTakeFirst()
    if (!template) throw notFound(`template ${id}`)
    if (template.capture_id === null && count > 0) {
      throw new ApiError(
        'precondition_failed',
        `template ${id} has no disk of its own: its machines are those of the image, which ` +
          'COMPUTER_WARM_MACHINES keeps warm',
      )
    }
    return tx
      .updateTable('templates')
      .set({ warm: count })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow()
  })
}
