/** The form of a type: as fields for people, or as JSON. */

import type { ComponentChildren } from 'preact'
import { Field } from '../../../pages/parts/forms.tsx'
import { asSentence } from '../../../pages/text/broken-rules.ts'
import type { Faults } from './type-definition.ts'
import type { TypeDefinition, TypeFields } from './type-fields.ts'
import { ConnectionRows, FieldRows, Lines, troubleIn } from './type-rows.tsx'

/** A type that is being written. */
export interface TypeDraft {
  /** The name in the address. Undefined: a new type. */
  readonly known: string | undefined
  /** The name of a new type, as it was typed. */
  readonly name: string
  /** The version that the form changes. Empty: none. */
  readonly version: string
  /** The number of newly broken pages that the user has last seen. */
  readonly broken: number | undefined
  readonly view: FormView | JsonView
}

interface FormView {
  readonly as: 'form'
  readonly base: TypeDefinition
  readonly fields: TypeFields
}

interface JsonView {
  readonly as: 'json'
  readonly json: string
}

interface Props {
  readonly draft: TypeDraft
  readonly faults: Faults
  /** True if the faults kept the type from being saved. */
  readonly isRefused?: boolean | undefined
  readonly action: string
  readonly mayEdit: boolean
  /** The findings of the last check. */
  readonly children?: ComponentChildren
}

/** Controls that the form shows apart from rows. */
const single = [
  ...['name', 'title', 'plural', 'aliases', 'enforcement', 'parents.types', 'parents.min', 'parents.max'],
  ...['text', 'tags', 'columns', 'json'],
]

export function TypeForm({ draft, faults, isRefused, action, mayEdit, children }: Props) {
  const { view, version, broken } = draft
  return (
    <form method="post" action={action} class="fields type-form">
      <input type="hidden" name="version" value={version} />
      <input type="hidden" name="broken" value={broken ?? ''} />
      <input type="hidden" name="as" value={view.as} />
      {/* The Enter key presses the first button. */}
      <button class="vh" type="submit" name="act" value="check" tabIndex={-1} aria-hidden="true" disabled={!mayEdit}>
        Check
      </button>
      <FaultList {...{ draft, faults, isRefused }} />
      <fieldset class="type-all" disabled={!mayEdit}>
        <legend class="vh">Definition</legend>
        {view.as === 'form' ? (
          <FormFields {...{ draft, view, faults, action }} />
        ) : (
          <>
            {draft.known === undefined && <NameField draft={draft} faults={faults} />}
            <JsonField view={view} faults={faults} />
          </>
        )}
      </fieldset>
      {children}
      {mayEdit && <Acts as={view.as} action={action} />}
    </form>
  )
}

function Acts({ as, action }: { readonly as: 'form' | 'json'; readonly action: string }) {
  const other = as === 'form' ? 'json' : 'form'
  return (
    <p class="type-save">
      <button class="btn go" type="submit" name="act" value="save">
        Save type
      </button>
      <button class="btn" type="submit" name="act" value="check" formAction={`${action}#impact`}>
        Check
      </button>
      <button class="btn quiet" type="submit" name="act" value={`as-${other}`} formNoValidate>
        {other === 'json' ? 'Edit as JSON' : 'Edit as a form'}
      </button>
    </p>
  )
}

/** Names the number of faults, and those that no control shows. */
function FaultList({ draft: { view, known }, faults, isRefused }: Pick<Props, 'draft' | 'faults' | 'isRefused'>) {
  if (faults.size === 0) return null
  const shown = [...faults].filter(([control]) => !isShown(control, view, known)).flatMap(([, says]) => says)
  return (
    <div class="problem" role="alert">
      <p>
        {isRefused
          ? 'The type was not saved, because some entries cannot be used.'
          : 'The definition has mistakes. Correct them before you save it.'}
      </p>
      {shown.length > 0 && (
        <ul>
          {shown.map((says) => (
            <li>{asSentence(says)}</li>
          ))}
        </ul>
      )}
    </div>
  )
}

function isShown(control: string, view: TypeDraft['view'], known: string | undefined): boolean {
  if (control === 'name') return known === undefined
  if (view.as === 'json') return control === 'json'
  const [, kind, at = ''] = /^([fc])(\d+)\./.exec(control) ?? []
  if (kind === undefined) return single.includes(control) && control !== 'json'
  return Number(at) < (kind === 'f' ? view.fields.fields : view.fields.connections).length
}

function NameField({ draft: { name }, faults }: Pick<Props, 'draft' | 'faults'>) {
  return (
    <Field
      label="Name"
      hint="pages have it in their property “type”, and addresses have it; empty: made from the title"
      name="name"
      trouble={troubleIn(faults)('name')}
    >
      {(tied) => <input {...tied} value={name} autocomplete="off" spellcheck={false} placeholder="recipe" />}
    </Field>
  )
}

function JsonField({ view, faults }: { readonly view: JsonView; readonly faults: Faults }) {
  return (
    <Field label="Definition" hint="JSON" name="json" trouble={troubleIn(faults)('json')}>
      {(tied) => <Lines tied={tied} value={view.json} rows={28} isCode />}
    </Field>
  )
}

type FormProps = Pick<Props, 'draft' | 'faults' | 'action'> & { readonly view: FormView }

function FormFields({ draft, view: { base, fields }, faults, action }: FormProps) {
  return (
    <>
      <input type="hidden" name="base" value={JSON.stringify(base)} />
      <Names {...{ draft, fields, faults }} />
      <Enforcement fields={fields} />
      <FieldRows rows={fields.fields} faults={faults} action={action} />
      <label class="check">
        <input type="checkbox" name="others" checked={fields.others} />
        <span>Pages may also have properties that are not listed here</span>
      </label>
      <section aria-labelledby="type-links">
        <h2 id="type-links">Links</h2>
        <p class="why">
          Rules for the links from a page of this type to others, such as a recipe to its author. Pages store a link by
          its name. Readers see its label, or the name if it has no label.
        </p>
        <ConnectionRows rows={fields.connections} faults={faults} action={action} />
      </section>
      <label class="check">
        <input type="checkbox" name="other_connections" checked={fields.otherConnections} />
        <span>Pages may also have links that are not listed here</span>
      </label>
      <Parents fields={fields} faults={faults} />
      <NewPages fields={fields} faults={faults} />
    </>
  )
}

type PartProps = Pick<FormProps, 'faults'> & { readonly fields: TypeFields }

function Names({ draft, fields, faults }: PartProps & Pick<Props, 'draft'>) {
  const trouble = troubleIn(faults)
  return (
    <>
      <Field label="Title" hint="readers see it for one page, such as Recipe" name="title" trouble={trouble('title')}>
        {(tied) => <input {...tied} value={fields.title} required autocomplete="off" />}
      </Field>
      {draft.known === undefined && <NameField draft={draft} faults={faults} />}
      <Field
        label="Plural"
        hint="readers see it for several pages, such as Recipes"
        name="plural"
        trouble={trouble('plural')}
      >
        {(tied) => <input {...tied} value={fields.plural} autocomplete="off" />}
      </Field>
      <Field
        label="Other names"
        hint="one a line; readers do not see them. Pages with such a name in their property “type” also have this type"
        name="aliases"
        trouble={trouble('aliases')}
      >
        {(tied) => <Lines tied={tied} value={fields.aliases} rows={2} />}
      </Field>
    </>
  )
}

const enforcements = [
  ['advisory', 'Advisory', 'A page that breaks a rule is saved all the same. It is listed under “Problems”.'],
  [
    'strict',
    'Strict',
    'A change that breaks a rule is refused. Pages that already break one can still be changed, but not for the worse.',
  ],
] as const

function Enforcement({ fields }: { readonly fields: TypeFields }) {
  return (
    <fieldset class="choice-list">
      <legend>Rules are</legend>
      {enforcements.map(([value, title, says]) => (
        <label class="check">
          <input type="radio" name="enforcement" value={value} checked={fields.enforcement === value} />
          <span>
            {title} <small>{says}</small>
          </span>
        </label>
      ))}
    </fieldset>
  )
}

function Parents({ fields: { parents }, faults }: PartProps) {
  const trouble = troubleIn(faults)
  return (
    <section aria-labelledby="type-parents">
      <h2 id="type-parents">Parent pages</h2>
      <div class="type-ends">
        <Field
          label="Below pages of"
          hint="types, with commas; empty: any page"
          name="parents.types"
          trouble={trouble('parents.types')}
        >
          {(tied) => <input {...tied} value={parents.types} autocomplete="off" spellcheck={false} />}
        </Field>
        <Field label="At least" name="parents.min" trouble={trouble('parents.min')}>
          {(tied) => <input {...tied} inputMode="numeric" value={parents.min} autocomplete="off" />}
        </Field>
        <Field label="At most" name="parents.max" trouble={trouble('parents.max')}>
          {(tied) => <input {...tied} inputMode="numeric" value={parents.max} autocomplete="off" />}
        </Field>
      </div>
    </section>
  )
}

function NewPages({ fields, faults }: PartProps) {
  const trouble = troubleIn(faults)
  return (
    <section aria-labelledby="type-new">
      <h2 id="type-new">New pages and the table</h2>
      <Field label="Text of a new page" hint="Markdown" name="text" trouble={trouble('text')}>
        {(tied) => <Lines tied={tied} value={fields.text} rows={4} />}
      </Field>
      <Field label="Tags of a new page" hint="with commas" name="tags" trouble={trouble('tags')}>
        {(tied) => <input {...tied} value={fields.tags} autocomplete="off" />}
      </Field>
      <Field
        label="Columns of the table"
        hint="one a line: the name or label of a field; for a link, -> before it"
        name="columns"
        trouble={trouble('columns')}
      >
        {(tied) => <Lines tied={tied} value={fields.columns} rows={3} />}
      </Field>
      <ColumnNames fields={fields} />
    </section>
  )
}

/** The most names of fields, and of links, that are listed as columns. */
const mostNames = 20

/** Lists the names that can be columns. */
function ColumnNames({ fields: { fields, connections } }: { readonly fields: TypeFields }) {
  const named = [...listed(fields), ...listed(connections).map((name) => `-> ${name}`)]
  if (named.length === 0) return null
  return (
    <p class="why">
      Columns can be:{' '}
      {named.map((name, at) => (
        <>
          {at > 0 && ', '}
          <code>{name}</code>
        </>
      ))}
      .
    </p>
  )
}

function listed(rows: readonly { readonly name: string }[]): string[] {
  const names = rows.map(({ name }) => name).filter((name) => name !== '')
  return names.length > mostNames ? [...names.slice(0, mostNames), '…'] : names
}
