/** The messages between the service and the process of an import. */

import type { Config } from '../../../base/config.ts'
import type { Person } from '../../../domain/actor.ts'
import type { ImportRecord } from './record-format.ts'
import type { Report } from './report-format.ts'

export interface ImportOptions {
  /** Changes nothing, and reports what would change. */
  readonly dryRun: boolean
  /** The prefix of links from the root of a site. */
  readonly base?: string
  /** Patterns as in `.gitignore`, one a line. */
  readonly exclude?: string
  /** Why an owner creates nodes in spite of rules that guard them. */
  readonly override?: string
  /** True if the changes become items of change sets. */
  readonly propose?: boolean
}

/** Returns the role that an import needs. */
export function neededFor({ propose }: ImportOptions): 'contributor' | 'editor' {
  return propose ? 'contributor' : 'editor'
}

export interface ImportOrder {
  readonly config: Config
  readonly person: Person
  readonly orgId: string
  /** The folder of the import, which has the archive. */
  readonly folder: string
  /** The name of the imported folder, if the archive does not have one. */
  readonly name: string
  readonly options: ImportOptions
}

/** Messages to the process. */
export type ToImport = { readonly kind: 'order'; readonly order: ImportOrder } | { readonly kind: 'stop' }

/** Messages from the process. */
export type FromImport = ({ readonly kind: 'progress' } & ImportRecord['progress']) | Outcome

/** The end of an import. The details are sentences for its user. */
export type Outcome =
  | { readonly kind: 'done'; readonly report: Report }
  | { readonly kind: 'failed'; readonly detail: string }
  /** The process ended without an outcome, or stopped when it was asked to. */
  | { readonly kind: 'ended' }
