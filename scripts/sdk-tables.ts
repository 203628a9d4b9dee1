import {
  ApiKeyScope,
  AuditEventType,
  BudgetAction,
  BudgetLimitType,
  BudgetScopeType,
  BudgetWindow,
  closeCode,
  ErrorCode,
  errorStatus,
  helpLeaseSeconds,
  HelpReason,
  HelpState,
  helpWaitMaxSeconds,
  InvitationState,
  MachineEventType,
  MachineSize,
  MachineState,
  machineTransitions,
  maxSecretBytes,
  maxSecretBytesPerMachine,
  maxSecretsPerMachine,
  Permission,
  PreviewAccess,
  reservedSecretNames,
  restingStates,
  Role,
  rolePermissions,
  scopePermissions,
  SessionState,
  SessionType,
  SnapshotOrigin,
  SnapshotState,
  TemplateState,
  type JsonSchema,
  type OpenApiDocument,
} from '@computer/contract'

/*
 * The tables of the contract as plain constants, for pages and forms that would otherwise need the
 * contract and zod at run time.
 */
type Table = { readonly type: string; readonly value: unknown; readonly note?: string }

const listOf = (type: string, values: readonly string[], note?: string): Table => ({
  type: `readonly ${type}[]`,
  value: values,
  ...(note && { note }),
})

const tables: Readonly<Record<string, Table>> = {
  machineStates: listOf('MachineState', MachineState.options),
  machineTransitions: {
    type: 'Readonly<Record<MachineState, readonly MachineState[]>>',
    value: machineTransitions,
    note: 'The states that a machine can enter from each state.',
  },
  settledStates: listOf(
    'MachineState',
    restingStates,
    'The states in which no operation is in progress.',
  ),
  machineSizes: listOf('MachineSize', MachineSize.options),
  roles: listOf('Role', Role.options),
  permissions: listOf('Permission', Permission.options),
  rolePermissions: {
    type: 'Readonly<Record<Role, readonly Permission[]>>',
    value: rolePermissions,
  },
  apiKeyScopes: listOf('ApiKeyScope', ApiKeyScope.options),
  scopePermissions: {
    type: 'Readonly<Record<ApiKeyScope, readonly Permission[]>>',
    value: scopePermissions,
    note: 'The permissions that a scope grants, if the creator of the key has them. Any key may read.',
  },
  machineEventTypes: listOf('MachineEventType', MachineEventType.options),
  auditEventTypes: listOf('AuditEventType', AuditEventType.options),
  snapshotStates: listOf('SnapshotState', SnapshotState.options),
  snapshotOrigins: listOf('SnapshotOrigin', SnapshotOrigin.options),
  templateStates: listOf('TemplateState', TemplateState.options),
  sessionTypes: listOf('SessionType', SessionType.options),
  sessionStates: listOf('SessionState', SessionState.options),
  invitationStates: listOf('InvitationState', InvitationState.options),
  helpReasons: listOf('HelpReason', HelpReason.options),
  helpStates: listOf('HelpState', HelpState.options),
  helpLeaseSeconds: {
    type: 'number',
    value: helpLeaseSeconds,
    note: 'How long the input lease lasts that taking a help request grants, unless it is renewed.',
  },
  helpWaitMaxSeconds: {
    type: 'number',
    value: helpWaitMaxSeconds,
    note: 'The longest that a read of a help request waits.',
  },
  budgetScopeTypes: listOf('BudgetScopeType', BudgetScopeType.options),
  budgetLimitTypes: listOf('BudgetLimitType', BudgetLimitType.options),
  budgetWindows: listOf('BudgetWindow', BudgetWindow.options),
  budgetActions: listOf('BudgetAction', BudgetAction.options),
  previewAccesses: listOf('PreviewAccess', PreviewAccess.options),
  errorCodes: listOf('ErrorCode', ErrorCode.options),
  errorStatus: {
    type: 'Readonly<Record<ErrorCode, number>>',
    value: errorStatus,
    note: 'The HTTP status of each error code.',
  },
}

/** The fields of requests whose limits are emitted, by the name of the limit. */
const limitedFields: Readonly<Record<string, readonly [route: string, field: string]>> = {
  machineName: ['POST /v1/machines', 'name'],
  snapshotName: ['POST /v1/snapshots', 'name'],
  templateName: ['POST /v1/templates', 'name'],
  templateDescription: ['POST /v1/templates', 'description'],
  apiKeyName: ['POST /v1/api-keys', 'name'],
  budgetName: ['POST /v1/budgets', 'name'],
  organizationName: ['POST /v1/organizations', 'name'],
  personName: ['POST /v1/auth/signup', 'name'],
  email: ['POST /v1/auth/signup', 'email'],
  password: ['POST /v1/auth/signup', 'password'],
  port: ['POST /v1/machines/{machine_id}/ports', 'port'],
  previewName: ['POST /v1/machines/{machine_id}/ports', 'name'],
  secretName: ['DELETE /v1/machines/{machine_id}/secrets/{name}', 'name'],
  leaseTtlSeconds: ['POST /v1/machines/{machine_id}/input-lease', 'ttl_seconds'],
  terminalCols: ['POST /v1/machines/{machine_id}/terminals', 'cols'],
  terminalRows: ['POST /v1/machines/{machine_id}/terminals', 'rows'],
  displayWidth: ['POST /v1/machines/{machine_id}/display/resize', 'width'],
  displayHeight: ['POST /v1/machines/{machine_id}/display/resize', 'height'],
  typedText: ['POST /v1/machines/{machine_id}/keyboard/type', 'text'],
  clipboardText: ['PUT /v1/machines/{machine_id}/clipboard', 'text'],
  execTimeoutMs: ['POST /v1/machines/{machine_id}/exec', 'timeout_ms'],
  screenshotMaxWidth: ['GET /v1/machines/{machine_id}/screenshot', 'max_width'],
  screenshotQuality: ['GET /v1/machines/{machine_id}/screenshot', 'quality'],
  pageLimit: ['GET /v1/machines', 'limit'],
}

const limitKeywords = ['minLength', 'maxLength', 'minimum', 'maximum', 'default'] as const

export function tablesModule(header: string, document: OpenApiDocument): string {
  const constants = Object.entries(tables).map(
    ([name, { type, value, note }]) =>
      `${note ? `/** ${note} */\n` : ''}export const ${name}: ${type} = ${JSON.stringify(value)}\n`,
  )
  const used = Object.values(tables).flatMap(({ type }) => type.match(/\b[A-Z]\w+/g) ?? [])
  const types = new Set(used.filter((name) => !['Readonly', 'Record'].includes(name)))
  return `${header}import type {\n  ${[...types].sort().join(',\n  ')},\n} from './records.ts'

${constants.join('\n')}
/** The codes with which the gateway closes a connection. */
export const closeCodes = ${JSON.stringify(closeCode)} as const

/**
 * The limits of fields, such as those of a form. Lengths are in UTF-16 units, as of \`maxlength\` in HTML;
 * each pattern is one for the attribute \`pattern\`.
 */
export const limits = ${JSON.stringify(limitsOf(document))} as const
`
}

function limitsOf(document: OpenApiDocument): Record<string, unknown> {
  const fields = Object.entries(limitedFields).map(([name, [route, field]]) => {
    return [name, limitsOfField(fieldOf(document, route, field))] as const
  })
  const { secretName, ...rest } = Object.fromEntries(fields)
  return {
    ...rest,
    metadata: metadataLimits(fieldOf(document, 'POST /v1/machines', 'metadata')),
    secretName: { ...secretName, reserved: portablePattern(reservedSecretNames.source) },
    secretValue: { maxBytes: maxSecretBytes },
    secretsOfMachine: { maxItems: maxSecretsPerMachine, maxBytes: maxSecretBytesPerMachine },
  }
}

function limitsOfField(schema: JsonSchema): Record<string, unknown> {
  const bounds = limitKeywords.filter((keyword) => keyword in schema && schema[keyword] !== '')
  const { pattern, format } = schema
  const limited = {
    ...Object.fromEntries(bounds.map((keyword) => [keyword, schema[keyword]])),
    // The browser checks an email itself.
    ...(typeof pattern === 'string' && !format && { pattern: portablePattern(pattern) }),
  }
  if (Object.keys(limited).length === 0) throw new Error(`no limit in ${JSON.stringify(schema)}`)
  return limited
}

function metadataLimits(schema: JsonSchema): Record<string, unknown> {
  const { maxProperties, propertyNames, additionalProperties } = schema
  return {
    maxKeys: maxProperties,
    key: limitsOfField(propertyNames as JsonSchema),
    value: limitsOfField(additionalProperties as JsonSchema),
  }
}

/** Browsers compile `pattern` with the flag v, which refuses a bare hyphen at the end of a class. */
function portablePattern(pattern: string): string {
  return pattern.replaceAll('-]', '\\-]')
}

type Fields = { readonly properties?: Readonly<Record<string, JsonSchema>> }

/** The schema of a field of the body, or else of a parameter. */
function fieldOf(document: OpenApiDocument, route: string, name: string): JsonSchema {
  const [method, path] = route.split(' ') as [string, string]
  const operation = document.paths[path]?.[method.toLowerCase()]
  const body = operation?.requestBody?.content['application/json']?.schema
  const { properties } = body ? (resolve(document, body) as Fields) : {}
  const parameter = operation?.parameters.find((one) => one.name === name)
  const field = properties?.[name] ?? parameter?.schema
  if (!field) throw new Error(`${route} has no field ${name}: correct limitedFields`)
  return resolve(document, field)
}

function resolve(document: OpenApiDocument, schema: JsonSchema): JsonSchema {
  const { $ref } = schema
  return typeof $ref === 'string' ? document.components.schemas[$ref.split('/').at(-1)!]! : schema
}
