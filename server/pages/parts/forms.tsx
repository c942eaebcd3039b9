/** Fields with their errors, and refused forms that are shown again. */

import type { ComponentChildren } from 'preact'
import { AppError, ValidationError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { type Page, type PageResult, redirect } from '../page-context.ts'
import { asSentence, brokenField } from '../text/broken-rules.ts'

/** Why a form was refused. */
export interface Trouble {
  /** The invalid field; undefined: the whole form. */
  readonly field?: string
  readonly says: string
}

export function field(form: URLSearchParams, name: string): string {
  return form.get(name) ?? ''
}

/** Runs `act` and redirects to its result. Shows the form `again` if the user can correct it. @throws other errors */
export async function submitForm(
  again: (trouble: Trouble) => Promise<Page>,
  act: () => Promise<string>,
): Promise<PageResult> {
  try {
    return redirect(303, await act())
  } catch (error) {
    return showFormErrors(error, again)
  }
}

/** Shows the form again with the error. @throws the error if the user cannot correct it */
export async function showFormErrors(error: unknown, again: (trouble: Trouble) => Promise<Page>): Promise<Page> {
  if (error instanceof ValidationError) return { ...(await again(brokenField(error.problems))), status: 422 }
  const known = error instanceof AppError ? refusals[error.code] : undefined
  if (!(error instanceof AppError) || known === undefined) throw error
  const { status, field } = known
  return { ...(await again({ says: asSentence(error.message), ...(field && { field }) })), status }
}

/** Errors that the user can correct, with the API's HTTP status and the field concerned. */
const refusals: Readonly<Partial<Record<AppError['code'], { readonly status: number; readonly field?: string }>>> = {
  last_owner: { status: 409 },
  email_unverified: { status: 403 },
  too_many_members: { status: 409 },
  too_many_invitations: { status: 409 },
  too_many_tokens: { status: 409 },
  too_many_connections: { status: 409 },
  too_many_webhooks: { status: 409 },
  secret_lost: { status: 409 },
  version_moved: { status: 409 },
  too_many_follows: { status: 409 },
  account_not_found: { status: 404, field: 'email' },
  member_not_found: { status: 404 },
  org_not_found: { status: 404, field: 'org_id' },
  node_not_found: { status: 404, field: 'node_id' },
  token_not_found: { status: 404 },
  connection_not_found: { status: 404 },
  session_not_found: { status: 404 },
  identity_not_found: { status: 404 },
  last_way_in: { status: 409 },
  confirmation_required: { status: 403 },
  password_login_off: { status: 403 },
  own_account: { status: 409 },
  invalid_credentials: { status: 403 },
  invalid_token: { status: 403, field: 'reset_token' },
  email_taken: { status: 409, field: 'email' },
  signup_closed: { status: 403 },
  invitation_not_found: { status: 403, field: 'invitation' },
  account_disabled: { status: 403 },
  rate_limited: { status: 429 },
}

/** Attributes that connect a control with its label and its error. */
interface Tied {
  readonly id: string
  readonly name: string
  readonly 'aria-invalid'?: true
  readonly 'aria-describedby'?: string
  readonly autofocus?: true
}

interface FieldProps {
  readonly label: ComponentChildren
  readonly name: string
  readonly hint?: ComponentChildren
  readonly trouble?: Trouble | undefined
  /** Prefix of the id, if another form has a field with this name. */
  readonly of?: string
  readonly children: (tied: Tied) => ComponentChildren
}

/** A label, its control and its error. A control with an error gets the focus, which also scrolls to it. */
export function Field({ label, name, hint, trouble, of, children }: FieldProps) {
  const id = of === undefined ? name : `${of}-${name}`
  const isWrong = trouble?.field === name
  const fault = { 'aria-invalid': true, 'aria-describedby': `${id}-wrong`, autofocus: true } as const
  return (
    <div class="field">
      <label for={id}>
        {label} {hint && <small>{hint}</small>}
      </label>
      {children({ id, name, ...(isWrong ? fault : {}) })}
      {isWrong && (
        <p class="wrong" id={`${id}-wrong`} role="alert">
          {trouble.says}
        </p>
      )}
    </div>
  )
}

/** The error of the whole form, or of a field that it does not show. */
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

interface EmailFieldProps {
  readonly value: string
  readonly trouble: Trouble | undefined
}

/** The e-mail address of a user who signs in or up. */
export function EmailField({ value, trouble }: EmailFieldProps) {
  return (
    <Field label="E-mail" name="email" trouble={trouble}>
      {(tied) => (
        <input {...{ ...tied, value }} type="email" autocomplete="username" required maxLength={limits.email} />
      )}
    </Field>
  )
}

/** Minimum and maximum characters of a password. */
const passwordLength = { least: 8, most: 256 } as const

interface PasswordProps {
  readonly label: string
  readonly name: string
  readonly autocomplete: 'current-password' | 'new-password'
  readonly trouble?: Trouble | undefined
  /** Prefix of the id, if another form has a field with this name. */
  readonly of?: string
}

/** A password field. A new password has a minimum length. */
export function Password({ label, name, autocomplete, trouble, of }: PasswordProps) {
  const isNew = autocomplete === 'new-password'
  return (
    <Field
      label={label}
      hint={isNew ? `at least ${passwordLength.least} characters` : undefined}
      name={name}
      trouble={trouble}
      {...(of === undefined ? {} : { of })}
    >
      {(tied) => (
        <input
          {...{ ...tied, autocomplete }}
          {...(isNew ? { minLength: passwordLength.least } : {})}
          type="password"
          required
          maxLength={passwordLength.most}
        />
      )}
    </Field>
  )
}
