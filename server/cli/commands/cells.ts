/** `grove cells`: the services on one database, and which of them take new organisations. */
import { postgresOf } from '../../base/config.ts'
import { plural } from '../../base/plural.ts'
import { changeCell, readCells } from '../../domain/cells/all-cells.ts'
import { type Call, printLine, UsageError } from './command.ts'

export interface CellOptions {
  readonly open?: boolean
  readonly close?: boolean
  readonly weight?: string
}

const mostWeight = 1_000

/** Lists cells, or changes one. Needs only DATABASE_URL, no data folder. */
export async function cells({ config }: Call, name: string | undefined, options: CellOptions): Promise<number> {
  const postgres = postgresOf(config)
  if (postgres === undefined) throw new UsageError('DATABASE_URL is not set. Set it to the database of the cells')
  const change = changeOf(options)
  if (name === undefined && Object.keys(change).length > 0) throw new UsageError('Name the cell to change')
  if (name !== undefined && !(await changeCell(postgres, name, change)))
    throw new UsageError(`There is no cell ${name}; grove cells lists all`)
  const cells = (await readCells(postgres)).filter((cell) => name === undefined || cell.name === name)
  if (cells.length === 0) printLine('There are no cells. Start a service with CELL to create one')
  for (const { name, url, epoch, until, left, open, weight, organisations } of cells) {
    const lease = left > 0 ? `lease ${epoch} until ${new Date(until).toISOString()}` : `lease ${epoch} ended`
    const takes = open === 1 ? `open, weight ${weight}` : 'closed'
    printLine(`${name} ${url}: ${lease}; ${takes}; ${plural(organisations, 'organisation')}`)
  }
  return 0
}

function changeOf({ open = false, close = false, weight }: CellOptions) {
  if (open && close) throw new UsageError('--open and --close cannot be combined')
  if (weight !== undefined && !(/^\d{1,4}$/.test(weight) && Number(weight) <= mostWeight))
    throw new UsageError(`--weight must be a whole number from 0 to ${mostWeight}`)
  return {
    ...(open || close ? { open: open ? (1 as const) : (0 as const) } : {}),
    ...(weight === undefined ? {} : { weight: Number(weight) }),
  }
}
