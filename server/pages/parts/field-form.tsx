/** The inputs for the fields and connections of a type. They work without script. */

import { factsOf } from '../field-kinds.ts'
import type { Urls } from '../urls.ts'
import type { LinkState } from './field-links.ts'
import { controlName, type FieldState, kept } from './field-state.ts'
import type { Wrongs } from './field-wrongs.ts'

/** `lines`: of a textarea. `empty`: inputs for new targets. `shown`: characters of a value. */
const most = { lines: 12, empty: 2, shown: 60 } as const

interface FieldsProps {
  readonly urls: Urls
  readonly org: string
  readonly states: readonly FieldState[]
  readonly links: readonly LinkState[]
  readonly wrongs: Wrongs
}

export function FieldInputs({ urls, org, states, links, wrongs }: FieldsProps) {
  return (
    <>
      {states.map((state, at) => (
        <FieldRow {...{ state }} id={`field-${at}`} says={wrongs.get(`properties/${state.field.name}`) ?? []} />
      ))}
      {links.map((state, at) => (
        <LinkRow
          {...{ urls, org, state }}
          id={`links-${at}`}
          says={[...state.asks, ...(wrongs.get(`connections/${state.connection.name}`) ?? [])]}
        />
      ))}
    </>
  )
}

/** Attributes that tie a control to its name and its errors. */
interface Tied {
  readonly id: string
  readonly name: string
  readonly 'aria-invalid'?: true
  readonly 'aria-describedby'?: string
}

interface RowProps {
  readonly id: string
  readonly state: FieldState
  readonly says: readonly string[]
}

function FieldRow({ id, state, says }: RowProps) {
  const { field, kind, input } = state
  const { help } = factsOf(field.schema, kind)
  const described = [...(help === '' ? [] : [`${id}-help`]), ...(says.length === 0 ? [] : [`${id}-wrong`])].join(' ')
  const tied: Tied = {
    ...{ id, name: controlName(state) },
    ...(described !== '' && { 'aria-describedby': described }),
    ...(says.length > 0 && { 'aria-invalid': true as const }),
  }
  const label = (
    <>
      <bdi>{field.label}</bdi> <small>{noteOf(state)}</small>
    </>
  )
  const below = (
    <>
      {help !== '' && (
        <small class="why" id={`${id}-help`}>
          {help}
        </small>
      )}
      <Wrong id={`${id}-wrong`} says={says} />
    </>
  )
  if (input === 'checks')
    return (
      <fieldset class="field many" aria-describedby={tied['aria-describedby']}>
        <legend>{label}</legend>
        <Shown name={field.name} />
        <Checks {...{ state, tied }} />
        {below}
      </fieldset>
    )
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {input !== 'json' && <Shown name={field.name} />}
      <Control {...{ state, tied }} />
      {below}
    </div>
  )
}

/** Says that the form shows the field. Checkboxes send nothing if none is checked. */
function Shown({ name }: { readonly name: string }) {
  return <input type="hidden" name={`shown:${name}`} value="" />
}

/** Returns what to know before typing, such as `required, 1 to 12`. */
function noteOf({ field: { schema, isRequired }, input, kind }: FieldState): string {
  const { least, most: greatest } = factsOf(schema, kind)
  const unit = { value: '', characters: ' characters', items: ' items' }[kind?.range?.unit ?? 'value']
  const notes: Readonly<Record<string, string>> = {
    json: 'JSON',
    lines: 'one item a line',
    'date-time': 'with its offset',
  }
  return [isRequired ? 'required' : '', notes[input] ?? '', rangeText(least, greatest, unit)]
    .filter((part) => part !== '')
    .join(', ')
}

function rangeText(least: number | undefined, greatest: number | undefined, unit: string): string {
  if (least === undefined && greatest === undefined) return ''
  if (greatest === undefined) return `at least ${least}${unit}`
  return least === undefined ? `at most ${greatest}${unit}` : `${least} to ${greatest}${unit}`
}

interface ControlProps {
  readonly state: FieldState
  readonly tied: Tied
}

function Control({ state, tied }: ControlProps) {
  const { input, texts, choices, value } = state
  const [text = ''] = texts
  switch (input) {
    case 'json':
    case 'lines':
    case 'text':
      return <Area {...{ text, tied }} isCode={input === 'json'} least={input === 'text' ? 4 : 2} />
    case 'yes-no':
      return <Select {...{ tied, text, value }} options={[['true', 'yes'] as const, ['false', 'no'] as const]} />
    case 'select':
      return <Select {...{ tied, text, value }} options={choices.map((choice) => [`:${choice}`, choice] as const)} />
    default:
      return text.includes('\n') ? <Area {...{ text, tied }} isCode={false} least={2} /> : <Line {...{ state, tied }} />
  }
}

interface AreaProps {
  readonly text: string
  readonly tied: Tied
  readonly isCode: boolean
  readonly least: number
}

function Area({ text, tied, isCode, least }: AreaProps) {
  const rows = Math.max(least, Math.min(most.lines, text.split('\n').length))
  // HTML parsers drop a newline at the start of a textarea.
  return (
    <textarea {...tied} rows={rows} {...(isCode ? { class: 'code', spellcheck: false } : {})}>{`\n${text}`}</textarea>
  )
}

const modes: Readonly<Record<string, 'numeric' | 'decimal' | 'url' | 'email'>> = {
  whole: 'numeric',
  number: 'decimal',
  url: 'url',
  email: 'email',
}

/** Browsers drop what is typed into a wrong control. Only days have one, which does not let wrong ones be typed. */
function Line({ state: { input, texts }, tied }: ControlProps) {
  const [text = ''] = texts
  if (input === 'date' && /^(\d{4}-\d\d-\d\d)?$/.test(text)) return <input {...tied} type="date" value={text} />
  return (
    <input
      {...tied}
      type="text"
      value={text}
      inputMode={modes[input]}
      placeholder={input === 'date-time' ? '2026-12-31T18:00:00Z' : input === 'url' ? 'https://' : undefined}
      autocomplete="off"
    />
  )
}

interface SelectProps {
  readonly tied: Tied
  readonly text: string
  readonly value: unknown
  readonly options: readonly (readonly [value: string, label: string])[]
}

function Select({ tied, text, value, options }: SelectProps) {
  const hasKept = text === kept || (value !== undefined && value !== null && !options.some(([one]) => isOf(one, value)))
  const shown = String(JSON.stringify(value)).slice(0, most.shown)
  const all = [['', 'not set'] as const, ...options, ...(hasKept ? [[kept, `${shown} (as it is)`] as const] : [])]
  return (
    <select {...tied}>
      {all.map(([one, label]) => (
        <option value={one} selected={one === text}>
          {label}
        </option>
      ))}
    </select>
  )
}

function isOf(option: string, value: unknown): boolean {
  return option === String(value) || option === `:${value}`
}

function Checks({ state: { texts, choices }, tied: { id: _, ...tied } }: ControlProps) {
  const all = [...new Set([...choices.map((choice) => `:${choice}`), ...texts])]
  return (
    <>
      {all.map((option) => (
        <label class="check">
          <input {...tied} type="checkbox" value={option} checked={texts.includes(option)} />
          <bdi>{option.slice(1)}</bdi>
        </label>
      ))}
    </>
  )
}

function Wrong({ id, says }: { readonly id: string; readonly says: readonly string[] }) {
  if (says.length === 0) return null
  return (
    <p class="wrong" id={id}>
      {says.map((one) => (
        <span>{one} </span>
      ))}
    </p>
  )
}

interface LinkProps {
  readonly urls: Urls
  readonly org: string
  readonly id: string
  readonly state: LinkState
  readonly says: readonly string[]
}

/** The pages that the node is connected to, and inputs for the titles of others. */
function LinkRow({ urls, org, id, state, says }: LinkProps) {
  const { connection, held, chosen, found, typed, suggested } = state
  const { name, label, rule } = connection
  const few = rule.max === 1 ? 1 : most.empty
  const empty = typed.length > 0 || (rule.max === 1 && held.length + chosen.length > 0) ? 1 : few
  return (
    <fieldset class="field many" {...(says.length > 0 ? { 'aria-describedby': `${id}-wrong` } : {})}>
      <legend>
        <bdi>{label}</bdi>{' '}
        <small>
          {[(rule.min ?? 0) > 0 ? 'required' : '', rule.max === undefined ? '' : `at most ${rule.max}`]
            .filter((part) => part !== '')
            .join(', ')}
        </small>
      </legend>
      <input type="hidden" name={`links:${name}`} value="" />
      {held.map(({ id: edge, target, title, isKept }) => (
        <Check
          {...{ title, name: `keep:${name}`, value: edge, isChecked: isKept }}
          at={urls.node(org, target, title)}
          shown={{ name: `had:${name}`, value: edge }}
        />
      ))}
      {chosen.map(({ node_id, title }) => (
        <Check
          {...{ title, name: `pick:${name}`, value: node_id, isChecked: true }}
          at={urls.node(org, node_id, title)}
        />
      ))}
      <Wrong id={`${id}-wrong`} says={says} />
      {found.map(({ node_id, title }) => (
        <Check
          {...{ title, name: `pick:${name}`, value: node_id, isChecked: false }}
          at={urls.node(org, node_id, title)}
          shown={{ name: `offer:${name}`, value: node_id }}
        />
      ))}
      {[...typed, ...Array<string>(empty).fill('')].map((title, at) => (
        <input
          name={`add:${name}`}
          value={title}
          aria-label={`Add a page to ${label}`}
          placeholder="Title of a page"
          autocomplete="off"
          {...(at === 0 ? { id } : {})}
          list={`${id}-titles`}
        />
      ))}
      <datalist id={`${id}-titles`}>
        {suggested.map((title) => (
          <option value={title} />
        ))}
      </datalist>
    </fieldset>
  )
}

interface CheckProps {
  readonly name: string
  readonly value: string
  readonly isChecked: boolean
  /** The title of the page; empty if it is deleted. */
  readonly title: string
  /** The URL of the page. */
  readonly at: string
  /** A field that says that the form has the box. A box sends nothing if it is not ticked. */
  readonly shown?: { readonly name: string; readonly value: string }
}

/** A box for a page. The link is outside of the label and opens a tab, because leaving the form loses its entries. */
function Check({ name, value, isChecked, title, at, shown }: CheckProps) {
  return (
    <div class="of-page">
      <label class="check">
        <input type="checkbox" {...{ name, value }} checked={isChecked} />
        {title === '' ? <span class="why">a deleted page</span> : <bdi>{title}</bdi>}
      </label>
      {shown && <input type="hidden" {...shown} />}
      {title !== '' && (
        <a href={at} target="_blank" rel="noopener" aria-label={`Open ${title} in a new tab`}>
          <small>open</small>
        </a>
      )}
    </div>
  )
}
