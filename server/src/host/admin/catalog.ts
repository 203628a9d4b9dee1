import type { App } from '../../app.ts'
import type { CatalogFile } from '../../domain/billing/catalog-file.ts'
import { addCatalogVersion, readNewestCatalog } from '../../domain/billing/catalog-versions.ts'
import type { AdminAnswer } from './request.ts'

/** The newest catalog as the file that `apply` takes, in both formats. */
export async function showCatalog({ db }: Pick<App, 'db'>): Promise<AdminAnswer> {
  const catalog = await readNewestCatalog(db)
  return { json: catalog, text: JSON.stringify(catalog, null, 2) }
}

export async function applyCatalog(
  app: Pick<App, 'db'>,
  request: { readonly catalog: CatalogFile; readonly effectiveAt: string | null },
): Promise<AdminAnswer> {
  const { catalog, effectiveAt } = request
  const at = effectiveAt === null ? null : new Date(effectiveAt)
  const added = await addCatalogVersion(app, catalog, at)
  const time = added.effectiveAt.toISOString()
  return {
    json: { catalog_version: added.version, effective_at: time },
    text: `version ${added.version} of the catalog takes effect at ${time}; each organization's next billing period is priced under it`,
  }
}
