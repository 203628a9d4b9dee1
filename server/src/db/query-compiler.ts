import {
  AliasNode,
  type BinaryOperationNode,
  DeleteQueryNode,
  IdentifierNode,
  InsertQueryNode,
  OperatorNode,
  PostgresDialect,
  PostgresQueryCompiler,
  PrimitiveValueListNode,
  type ReferenceNode,
  SelectQueryNode,
  sql,
  TableNode,
  UpdateQueryNode,
  type OperationNode,
  type RawBuilder,
  type SelectAllNode,
} from 'kysely'
import { columnsOf } from './columns.ts'

/*
 * A connection keeps each statement prepared by its text (named-statements.ts), so this compiler writes two things in
 * another way than Kysely's own.
 *
 * `selectAll` and `returningAll` name the columns that this version of the server knows. With `*`, a column that a
 * newer version adds would fail the prepared statements of an older one that still runs: "cached plan must not change
 * result type". The list of an `in` is one parameter: each of its lengths would be another statement.
 */

export class NamingDialect extends PostgresDialect {
  override createQueryCompiler(): NamingCompiler {
    return new NamingCompiler()
  }
}

/** For SQL as text: what `*` stands for in a Kysely query, `alias.*` if there is an alias. */
export function allColumns(table: string, alias = table): RawBuilder<unknown> {
  const names = columnsOf(table)
  if (!names) throw new Error(`no columns of ${table} are known`)
  return sql.raw(qualify(names, alias))
}

/** A table of a statement; null for a subquery, whose columns are named within. */
type Source = { readonly alias: string; readonly table: string | null }

/** The operators that compare with a list, and those that compare with a parameter that is an array. */
const comparisons: ReadonlyMap<string, string> = new Map([
  ['in', '= any'],
  ['not in', '!= all'],
])

class NamingCompiler extends PostgresQueryCompiler {
  protected override visitReference(node: ReferenceNode): void {
    const isAll = node.column.kind === 'SelectAllNode' && this.#isSelected()
    const alias = isAll ? node.table?.table.identifier.name : undefined
    const sources = alias ? this.#sources().filter((source) => source.alias === alias) : []
    if (!this.#appendColumns(sources)) super.visitReference(node)
  }

  protected override visitSelectAll(node: SelectAllNode): void {
    if (!this.#isSelected() || !this.#appendColumns(this.#sources())) super.visitSelectAll(node)
  }

  protected override visitBinaryOperation(node: BinaryOperationNode): void {
    const { leftOperand, operator, rightOperand: list } = node
    const comparison = OperatorNode.is(operator) ? comparisons.get(operator.operator) : undefined
    if (!comparison || !PrimitiveValueListNode.is(list)) return super.visitBinaryOperation(node)
    this.visitNode(leftOperand)
    this.append(` ${comparison}(`)
    this.appendValue(list.values)
    this.append(')')
  }

  /** Not so in `count(*)`. */
  #isSelected(): boolean {
    const selection = this.nodeStack.findLastIndex((node) => node.kind === 'SelectionNode')
    return this.nodeStack[selection - 1]?.kind !== 'AggregateFunctionNode'
  }

  #appendColumns(sources: readonly Source[]): boolean {
    const lists = sources.map(({ alias, table }) => {
      const names = table === null ? undefined : columnsOf(table)
      return names && qualify(names, alias)
    })
    if (lists.length === 0 || lists.includes(undefined)) return false
    this.append(lists.join(', '))
    return true
  }

  /** The sources of the innermost statement. */
  #sources(): Source[] {
    const statement = this.nodeStack.findLast(isStatement)
    return statement ? sourcesOf(statement).flatMap(describe) : []
  }
}

type Statement = SelectQueryNode | InsertQueryNode | UpdateQueryNode | DeleteQueryNode

function isStatement(node: OperationNode): node is Statement {
  return (
    SelectQueryNode.is(node) ||
    InsertQueryNode.is(node) ||
    UpdateQueryNode.is(node) ||
    DeleteQueryNode.is(node)
  )
}

function sourcesOf(statement: Statement): readonly OperationNode[] {
  if (InsertQueryNode.is(statement)) return statement.into ? [statement.into] : []
  const joined = statement.joins?.map((join) => join.table) ?? []
  const updated = UpdateQueryNode.is(statement) && statement.table ? [statement.table] : []
  return [...updated, ...(statement.from?.froms ?? []), ...joined]
}

function describe(source: OperationNode): Source[] {
  if (TableNode.is(source)) {
    const table = source.table.identifier.name
    return [{ alias: table, table }]
  }
  if (!AliasNode.is(source) || !IdentifierNode.is(source.alias)) return []
  const table = TableNode.is(source.node) ? source.node.table.identifier.name : null
  return [{ alias: source.alias.name, table }]
}

function qualify(names: readonly string[], alias: string): string {
  return names.map((name) => `"${alias}"."${name}"`).join(', ')
}
