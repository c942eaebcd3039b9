/** The frame of each section in a node's settings: heading, outcome and buttons. */

import type { ComponentChildren } from 'preact'
import type { PageContext } from '../page-context.ts'
import type { Trouble } from './forms.tsx'
import { IntoField } from './into-field.tsx'
import type { AtNode } from './node-head.tsx'

export const sections = {
  move: 'Move',
  tags: 'Tags',
  properties: 'Properties',
  files: 'Files',
  links: 'Links',
  duplicate: 'Duplicate',
  delete: 'Delete',
} as const

export type SectionName = keyof typeof sections

/** Why a form was refused. The section shows what was typed again. */
export interface Refusal {
  readonly section: SectionName
  readonly trouble: Trouble
  readonly status: number
  /** The changes by others since the visitor opened the page. */
  readonly changes?: readonly string[]
}

export interface Settings {
  readonly visit: PageContext
  readonly at: AtNode
  readonly may: {
    /** False: changes are proposed. */
    readonly save: boolean
    readonly create: boolean
    readonly delete: boolean
  }
  readonly refusal?: Refusal
}

/** A section whose forms change the node. It builds the files to commit from the form and the head that was seen. */
export type BuildChange = (
  settings: Settings,
  head: string,
) => Promise<{ readonly changes: Changes; readonly message: string }>

type Changes = Parameters<PageContext['api']['createCommit']>[0]['body']['changes']

/** A form that the visitor can correct. */
export class FormError extends Error {
  readonly trouble: Trouble

  constructor(says: string, field?: string) {
    super(says)
    this.trouble = { says, ...(field === undefined ? {} : { field }) }
  }
}

interface SectionProps {
  readonly settings: Settings
  readonly name: SectionName
  readonly children: ComponentChildren
}

export function Section({ settings: { visit, refusal }, name, children }: SectionProps) {
  const isSaved = refusal === undefined && visit.query.get('saved') === name
  const wrong = refusal?.section === name ? refusal : undefined
  return (
    <section id={name} aria-labelledby={`${name}-title`}>
      <h2 id={`${name}-title`}>{sections[name]}</h2>
      {isSaved && (
        <p class="notice" role="status">
          Saved.
        </p>
      )}
      {wrong && (
        <div class="problem" role="alert">
          <p>{wrong.trouble.says}</p>
          {wrong.changes && (
            <ul>
              {wrong.changes.map((change) => (
                <li>{change}</li>
              ))}
            </ul>
          )}
        </div>
      )}
      {children}
    </section>
  )
}

interface FormProps extends SectionProps {
  /** True for a form with files. */
  readonly hasFiles?: boolean
  readonly class?: string
}

/** A form of a section. It names the head that the visitor sees. */
export function SettingsForm({ settings, name, hasFiles = false, class: style, children }: FormProps) {
  const { visit, at, may } = settings
  // Other forms of the page have no choice without a draft, because there are many.
  const hasChoice = name !== 'delete' && name !== 'duplicate' && at.org.draft_change_sets !== undefined
  return (
    <form
      class={style ?? 'fields'}
      method="post"
      action={visit.urls.nodeSettings(at.org.id, at.node.id, name)}
      {...(hasFiles ? { enctype: 'multipart/form-data' } : {})}
    >
      <input type="hidden" name="head" value={at.node.head ?? ''} />
      {hasChoice && (
        <IntoField
          org={at.org}
          sent={typedIn(settings, name) ?? new URLSearchParams()}
          {...(may.save && { alone: 'Save at once' })}
        />
      )}
      {children}
    </form>
  )
}

interface ButtonProps {
  readonly settings: Settings
  readonly act: string
  /** The verb of a direct change. */
  readonly label: string
  readonly isMain?: boolean
  readonly of?: string
}

/** Saves, or proposes if `main` changes only by proposals. */
export function ActButton({ settings: { may }, act, label, isMain = false, of }: ButtonProps) {
  const shown = may.save ? label : `Propose: ${label.charAt(0).toLowerCase()}${label.slice(1)}`
  return (
    <button
      class={isMain ? 'btn go' : 'btn'}
      type="submit"
      name="act"
      value={act}
      {...(of === undefined ? {} : { 'aria-label': `${shown} ${of}` })}
    >
      {shown}
    </button>
  )
}

/** Returns the fields of the form if this section's form was refused. */
export function typedIn({ visit, refusal }: Settings, name: SectionName): URLSearchParams | undefined {
  return refusal?.section === name ? visit.form : undefined
}
