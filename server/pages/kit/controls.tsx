/** The controls of forms. Each is a widget, with how its value is read from a form and written into it. */

import type { ComponentChildren, VNode } from 'preact'
import { invalid } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { plural } from '../parts/dates.tsx'
import { Field, Password, type Trouble } from '../parts/forms.tsx'

/** A control of a form, by the name of its field in the API. */
export interface Control<T> {
  /** The texts of an empty form. */
  readonly start: readonly string[]
  /** True if the control is not shown. Its values tell apart forms of one act. */
  readonly isHidden?: true
  /** True for the password that proves who the user is. */
  readonly isProof?: true
  /** True if it is folded under *More options*. */
  readonly isMore?: true
  /** Reads the value. @throws ValidationError at `name` */
  read(texts: readonly string[], name: string): T
  write(value: T): readonly string[]
  draw(shown: Shown): VNode
}

interface Shown {
  readonly name: string
  readonly texts: readonly string[]
  readonly trouble: Trouble | undefined
  /** Prefix of the id. */
  readonly of: string
  /** The options of a reference or of a page. */
  readonly options?: Options<string>
}

export type Options<T> = readonly (readonly [value: T, words: string, says?: string | undefined])[]
export type Controls = Readonly<Record<string, Control<unknown>>>

type Of<C> = C extends Control<infer T> ? T : never
type Optional<F, K extends keyof F> = undefined extends Of<F[K]> ? K : never

/** The values of a form. One that is undefined is left out. */
export type Body<F> = { readonly [K in keyof F as Exclude<K, Optional<F, K>>]: Of<F[K]> } & {
  readonly [K in keyof F as Optional<F, K>]?: Exclude<Of<F[K]>, undefined>
}

/** Folds controls under *More options*. */
export function more<F extends Controls>(controls: F): F {
  const folded = Object.entries(controls).map(([name, control]) => [name, { ...control, isMore: true }])
  return Object.fromEntries(folded) as F // the same controls
}

/** Returns the values of an empty form. */
export function startBody<F extends Controls>(controls: F): Body<F> {
  const pairs = Object.entries(controls).flatMap(([name, { start }]) => start.map((text) => [name, text]))
  return readBody(controls, new URLSearchParams(pairs))
}

/** Reads all controls. @throws ValidationError at the first that is invalid */
export function readBody<F extends Controls>(controls: F, form: URLSearchParams): Body<F> {
  const values = Object.entries(controls).map(([name, control]) => [name, control.read(form.getAll(name), name)])
  return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as Body<F> // the controls have these types
}

interface Look {
  readonly hint?: ComponentChildren
  readonly start?: string
  /** Maximum characters. */
  readonly most?: number
  readonly type?: 'email' | 'number' | 'url'
  readonly autocomplete?: 'email' | 'name'
}

function input(label: ComponentChildren, look: Look, required: boolean): Control<string> {
  const { hint, start = '', type = 'text', autocomplete = 'off', most = type === 'email' ? limits.email : 64 } = look
  return {
    start: [start],
    read: ([text = '']) => text.trim(),
    write: (value) => [value],
    draw: ({ texts: [value], ...shown }) => (
      <Field {...{ label, hint, ...shown }}>
        {(tied) => <input {...tied} {...{ required, autocomplete, value }} type={type as 'text'} maxLength={most} />}
      </Field>
    ),
  }
}

/** A line that must not be empty. */
export function line(label: ComponentChildren, look: Look = {}): Control<string> {
  return input(label, look, true)
}

/** A line that may be empty, and then has no value. */
export function optionalLine(label: string, look: Look = {}): Control<string | undefined> {
  const { read, ...control } = input(label, look, false)
  return { ...control, read: (texts, name) => read(texts, name) || undefined, write: (value = '') => [value] }
}

function select(label: string, hint: ComponentChildren, options: Options<string>): Control<unknown>['draw'] {
  return ({ texts: [chosen], ...shown }) => (
    <Field {...{ label, hint, ...shown }}>
      {(tied) => (
        <select {...tied}>
          {(shown.options ?? options).map(([value, words]) => (
            <option value={value} selected={value === chosen}>
              {words}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

interface ChoiceLook<T> {
  readonly hint?: ComponentChildren
  /** Default: the first option. */
  readonly start?: T
}

/** A value of a fixed list. */
export function choice<const T extends string | number | boolean>(
  label: string,
  options: Options<T>,
  { hint, start }: ChoiceLook<NoInfer<T>> = {},
): Control<T> {
  const first = String(start ?? options[0]?.[0])
  return {
    start: [first],
    read: ([text = first], name) => {
      const found = options.find(([value]) => String(value) === text)
      if (found === undefined) throw invalid(['body', name], 'Choose one of the options')
      return found[0]
    },
    write: (value) => [String(value)],
    draw: select(
      label,
      hint,
      options.map(([value, words]) => [String(value), words]),
    ),
  }
}

/** Answers to a question: a value, its verb, and a sentence about it. */
export type Answers<T> = readonly (readonly [value: T, verb: ComponentChildren, says?: string | undefined])[]

/** A question with a radio button for each answer. */
export function question<T extends string | boolean>(
  label: string,
  answers: Answers<T>,
  look: ChoiceLook<NoInfer<T>> = {},
): Control<T> {
  const options = answers.map(([value]) => [value, ''] as const)
  const { hint } = look
  return { ...choice(label, options, look), draw: (shown) => <Radios {...{ label, hint, answers, ...shown }} /> }
}

interface RadiosProps<T> extends Omit<Shown, 'of'> {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly answers: Answers<T>
  readonly of?: string
}

/** Radio buttons below their question. */
export function Radios<T>({ label, hint, answers, name, texts, trouble, of }: RadiosProps<T>) {
  const id = of === undefined ? name : `${of}-${name}`
  const wrong = trouble?.field === name ? trouble.says : undefined
  return (
    <div
      class="choice-list"
      role="radiogroup"
      aria-labelledby={id}
      {...(wrong !== undefined && { 'aria-invalid': true, 'aria-describedby': `${id}-wrong` })}
    >
      <p class="legend" id={id}>
        {label} {hint && <small>{hint}</small>}
      </p>
      {answers.map(([value, verb, says]) => (
        <label class="check">
          <input type="radio" name={name} value={String(value)} checked={texts.includes(String(value))} />
          <span>
            {verb} {says && <small>{says}</small>}
          </span>
        </label>
      ))}
      {wrong !== undefined && (
        <p class="wrong" id={`${id}-wrong`} role="alert">
          {wrong}
        </p>
      )}
    </div>
  )
}

/** An id of a list that is read with the page. An empty one has no value. */
export function reference(label: string): Control<string | undefined> {
  return {
    start: [''],
    read: ([text]) => text || undefined,
    write: (value = '') => [value],
    draw: select(label, undefined, []),
  }
}

/** The id of a page, by radio buttons. Undefined: one must still be chosen. @param none the words for an empty id */
export function node(label: string, none: string): Control<string | undefined> {
  return {
    start: [],
    read: ([id]) => id,
    write: (id) => (id === undefined ? [] : [id]),
    draw: ({ options = [], ...shown }) => <Radios {...{ label, ...shown }} answers={[['', none], ...options]} />,
  }
}

const dayMs = 86_400_000

/** When something expires, as days from now. With `never`, it need not. */
export function expiry(days: readonly number[], start: number): Control<string>
export function expiry(days: readonly number[], start: number, never: 'never'): Control<string | undefined>
export function expiry(days: readonly number[], start: number, never?: 'never'): Control<string | undefined> {
  const options = [
    ...days.map((one) => [String(one), `in ${plural(one, 'day')}`] as const),
    ...(never ? [[never, never] as const] : []),
  ]
  const control = choice('Expires', options, { start: String(start) })
  return {
    ...control,
    read: (texts, name) => {
      const text = control.read(texts, name)
      // The service may be a moment ahead, and refuses what is longer than its limit.
      return text === 'never' ? undefined : new Date(Date.now() + Number(text) * dayMs - 1_000).toISOString()
    },
    write: () => control.start,
  }
}

/** A box that is checked or not. */
export function check(words: ComponentChildren): Control<boolean> {
  return {
    start: [],
    read: (texts) => texts.length > 0,
    write: (value) => (value ? ['on'] : []),
    draw: ({ name, texts }) => <Check {...{ name, words }} value="on" checked={texts.length > 0} />,
  }
}

interface CheckProps {
  readonly name: string
  readonly value: string
  readonly words: ComponentChildren
  readonly checked: boolean
}

export function Check({ words, ...box }: CheckProps) {
  return (
    <label class="check">
      <input type="checkbox" {...box} />
      <span>{words}</span>
    </label>
  )
}

/** The password that proves who the user is. Users without one have no value. */
export function proof(label: string): Control<string | undefined> {
  return {
    ...{ start: [], isProof: true, read: ([text]) => text, write: () => [] },
    draw: ({ texts, ...shown }) => <Password {...{ label, ...shown }} autocomplete="current-password" />,
  }
}

export const newPassword: Control<string> = {
  start: [],
  read: ([text = '']) => text,
  write: () => [],
  draw: ({ texts, ...shown }) => <Password label="New password" autocomplete="new-password" {...shown} />,
}

/** Several lines. */
export function text(label: string, hint: string, most: number, start = ''): Control<string> {
  return {
    start: [start],
    read: ([typed = '']) => typed.replaceAll('\r\n', '\n').trim(),
    write: (value) => [value],
    draw: ({ texts: [value], ...shown }) => (
      <Field {...{ label, hint, ...shown }}>
        {(tied) => (
          <textarea {...tied} rows={3} maxLength={most}>
            {`\n${value?.replaceAll('\r\n', '\n')}`}
          </textarea>
        )}
      </Field>
    ),
  }
}

/** The id of what an act is for. */
export const hidden: Control<string> = {
  start: [''],
  isHidden: true,
  read: ([text = '']) => text,
  write: (value) => [value],
  draw: ({ name, texts: [value] }) => <input type="hidden" {...{ name, value }} />,
}
