/** What the forms of pages share: fields with what is wrong beside them, and how one that is refused is shown again. */

import type { ComponentChildren } from 'preact'
import { Invalid, Refusal } from '../errors.ts'
import { type Page, redirect, type Shown } from './visit.ts'

/** Why a form was not taken. */
export interface Trouble {
  /** The field at fault; undefined: the whole form. */
  readonly field?: string
  readonly says: string
}

export function field(form: URLSearchParams, name: string): string {
  return form.get(name) ?? ''
}

/** On to where `act` leads; the form `again`, with what is wrong, where the person may mend it. @throws what else goes wrong */
export async function taken(again: (trouble: Trouble) => Promise<Page>, act: () => Promise<string>): Promise<Shown> {
  try {
    return redirect(303, await act())
  } catch (error) {
    return shownAgain(error, again)
  }
}

/** @throws the error where the person cannot mend it */
export async function shownAgain(error: unknown, again: (trouble: Trouble) => Promise<Page>): Promise<Page> {
  if (error instanceof Invalid) {
    const [first] = error.problems
    const name = String(first?.loc.at(-1) ?? '')
    const says = (first?.msg ?? 'The form is not complete').replace(/^Value error, /, '')
    return { ...(await again({ field: name, says })), status: 422 }
  }
  const status = error instanceof Refusal ? statuses[error.code] : undefined
  if (!(error instanceof Refusal) || status === undefined) throw error
  return { ...(await again({ says: error.message })), status }
}

/** Refusals that a person may mend, as REST answers them. */
const statuses: Readonly<Partial<Record<Refusal['code'], number>>> = {
  last_owner: 409,
  too_many_members: 409,
  too_many_tokens: 409,
  account_not_found: 404,
  member_not_found: 404,
  org_not_found: 404,
  node_not_found: 404,
  token_not_found: 404,
  invalid_credentials: 403,
}

interface FieldProps {
  readonly label: string
  readonly name: string
  readonly hint?: string
  readonly trouble?: Trouble | undefined
  readonly children: ComponentChildren
}

/** A control with its label and, after it, what is wrong with it. */
export function Field({ label, name, hint, trouble, children }: FieldProps) {
  const isWrong = trouble?.field === name
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is among the children
    <label>
      <span>
        {label} {hint && <small>{hint}</small>}
      </span>
      {children}
      {isWrong && (
        <span class="wrong" id={`wrong-${name}`} role="alert">
          {trouble.says}
        </span>
      )}
    </label>
  )
}

/** Attributes of a control in whose field something is wrong. */
export function wrong(name: string, trouble: Trouble | undefined) {
  return trouble?.field === name ? { 'aria-invalid': true, 'aria-describedby': `wrong-${name}` } : {}
}

/** What is wrong with a form as a whole, or with a field that it does not show. */
export function TroubleOf({
  trouble,
  fields,
}: {
  readonly trouble?: Trouble | undefined
  readonly fields: readonly string[]
}) {
  if (trouble === undefined || (trouble.field !== undefined && fields.includes(trouble.field))) return null
  return (
    <p class="problem" role="alert">
      {trouble.says}
    </p>
  )
}

interface TabsProps {
  readonly label: string
  readonly tabs: readonly { readonly title: string; readonly href: string; readonly isHere: boolean }[]
}

export function Tabs({ label, tabs }: TabsProps) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ title, href, isHere }) => (
        <a href={href} {...(isHere ? { 'aria-current': 'page' as const } : {})}>
          {title}
        </a>
      ))}
    </nav>
  )
}
