/** The form of a type: as fields for people, or as JSON. */

import { isDeepStrictEqual } from 'node:util'
import type { ComponentChildren } from 'preact'
import { Radios } from '../../../pages/kit/controls.tsx'
import { More } from '../../../pages/kit/parts.tsx'
import { Field } from '../../../pages/parts/forms.tsx'
import { asSentence } from '../../../pages/text/broken-rules.ts'
import type { Faults } from './type-definition.ts'
import { type TypeDefinition, type TypeFields, typeFieldsOf } from './type-fields.ts'
import { ConnectionRows, Entry, FieldRows, troubleIn } from './type-rows.tsx'

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

/** Folded controls. */
const advanced = [
  ...['name', 'plural', 'aliases', 'enforcement', 'parents.types', 'parents.min', 'parents.max'],
  ...['text', 'tags', 'columns'],
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
            <Entry label="Definition" hint="JSON" name="json" value={view.json} rows={28} isCode faults={faults} />
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
  if (kind === undefined) return control === 'title' || advanced.includes(control)
  return Number(at) < (kind === 'f' ? view.fields.fields : view.fields.connections).length
}

function NameField({ draft: { name }, faults }: Pick<Props, 'draft' | 'faults'>) {
  const hint = 'pages store it in their property “type”, such as recipe; empty: made from the title'
  return <Entry label="Name" name="name" value={name} {...{ hint, faults }} />
}

type FormProps = Pick<Props, 'draft' | 'faults' | 'action'> & { readonly view: FormView }

function FormFields({ draft, view: { base, fields }, faults, action }: FormProps) {
  const trouble = troubleIn(faults)
  return (
    <>
      <input type="hidden" name="base" value={JSON.stringify(base)} />
      <Field label="Title" hint="such as Recipe" name="title" trouble={trouble('title')}>
        {(tied) => <input {...tied} value={fields.title} required autocomplete="off" />}
      </Field>
      <FieldRows rows={fields.fields} faults={faults} action={action} />
      <section aria-labelledby="type-links">
        <h2 id="type-links">Links</h2>
        <p class="why">Rules for the links from a page of this type to others, such as a recipe to its author.</p>
        <ConnectionRows rows={fields.connections} faults={faults} action={action} />
      </section>
      <More title="Advanced" isOpen={isAdvanced(fields, draft) || advanced.some((control) => faults.has(control))}>
        <Names {...{ draft, fields, faults }} />
        <Radios
          label="If a change breaks a rule"
          name="enforcement"
          answers={enforcements}
          texts={[fields.enforcement]}
          trouble={trouble('enforcement')}
        />
        <label class="check">
          <input type="checkbox" name="others" checked={fields.others} />
          <span>Pages may also have properties that are not listed here</span>
        </label>
        <label class="check">
          <input type="checkbox" name="other_connections" checked={fields.otherConnections} />
          <span>Pages may also have links that are not listed here</span>
        </label>
        <Parents fields={fields} faults={faults} />
        <NewPages fields={fields} faults={faults} />
      </More>
    </>
  )
}

/** True if a folded control has another value than that of a new type. */
function isAdvanced({ title, fields, connections, ...folded }: TypeFields, { known, name }: TypeDraft): boolean {
  const { title: _, fields: _fields, connections: _connections, ...empty } = typeFieldsOf({ title: '' })
  return (known === undefined && name !== '') || !isDeepStrictEqual(folded, empty)
}

type PartProps = Pick<FormProps, 'faults'> & { readonly fields: TypeFields }

function Names({ draft, fields, faults }: PartProps & Pick<Props, 'draft'>) {
  return (
    <>
      {draft.known === undefined && <NameField draft={draft} faults={faults} />}
      <Entry
        {...{ label: 'Title of several pages', hint: 'such as Recipes', name: 'plural', value: fields.plural, faults }}
      />
      <Entry
        label="Other names"
        hint="one a line. Pages that store such a name also have this type"
        {...{ name: 'aliases', value: fields.aliases, rows: 2, faults }}
      />
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

function Parents({ fields: { parents }, faults }: PartProps) {
  const entry = (control: keyof typeof parents) => ({ name: `parents.${control}`, value: parents[control], faults })
  return (
    <section aria-labelledby="type-parents">
      <h2 id="type-parents">Parent pages</h2>
      <div class="type-ends">
        <Entry label="Below pages of" hint="types, with commas; empty: any page" {...entry('types')} />
        <Entry label="At least" {...entry('min')} isNumber />
        <Entry label="At most" {...entry('max')} isNumber />
      </div>
    </section>
  )
}

function NewPages({ fields, faults }: PartProps) {
  const entry = (name: 'text' | 'tags' | 'columns') => ({ name, value: fields[name], faults })
  return (
    <section aria-labelledby="type-new">
      <h2 id="type-new">New pages and the table</h2>
      <Entry label="Text of a new page" hint="Markdown" {...entry('text')} rows={4} />
      <Entry label="Tags of a new page" hint="with commas" {...entry('tags')} />
      <Entry
        label="Columns of the table"
        hint="one a line: the name or title of a field; for a link, -> before it"
        {...entry('columns')}
        rows={3}
      />
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
