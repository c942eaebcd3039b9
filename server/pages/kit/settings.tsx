/** Pages of settings: what they read, the acts of their forms, and what they show. */

import { type ComponentChildren, isValidElement, type VNode } from 'preact'
import { AppError, invalid } from '../../base/errors.ts'
import { type Page, type PageContext, type PageResult, redirect } from '../page-context.ts'
import { field, showFormErrors, type Trouble, TroubleOf } from '../parts/forms.tsx'
import { type Body, type Controls, type Options, readBody } from './controls.tsx'
import { More, Notice } from './parts.tsx'
import type { SceneFrame } from './scene-frames.tsx'

/** A form and its act. */
export interface Act<F extends Controls = Controls> {
  /** The verb on its button. */
  readonly label: string
  readonly controls: F
  /** Default: `go` with controls to fill in. */
  readonly look?: 'go' | 'plain' | 'stop' | undefined
  /** Returns a URL to go to, a page, or an element for this page. Otherwise this page is loaded again. */
  run(visit: PageContext, body: Body<F>): Promise<unknown>
}

export function act<F extends Controls>(label: string, controls: F, run: Act<F>['run'], look?: Act['look']): Act<F> {
  return { label, controls, run, look }
}

interface Fill<F> {
  /** The values to change, and those of hidden controls. */
  readonly values?: Partial<Body<F>>
  /** Controls that are not shown, and have no value. */
  readonly without?: readonly (keyof F & string)[] | undefined
  /** The options of references. */
  readonly options?: { readonly [K in keyof F]?: Options<string> }
  /** The id of an element to which the answer scrolls. */
  readonly at?: string
  /** The thing that the act changes, for names of buttons. */
  readonly of?: string
}

type ControlsOf<A> = A extends Act<infer F> ? F : never

/** How a page shows its acts. */
interface Ui<A> {
  readonly visit: PageContext
  /** The path of the page. */
  readonly action: string
  /** The form of an act. */
  form<K extends keyof A & string>(name: K, fill?: Fill<ControlsOf<A[K]>>): VNode
  /** A button that asks the question, with the form below it. */
  ask<K extends keyof A & string>(name: K, question: ComponentChildren, fill?: Fill<ControlsOf<A[K]>>): VNode
}

interface Scene<H, R, A> {
  readonly frame: SceneFrame<H>
  readonly title: string | ((read: R) => string)
  /** One sentence on what the page is for. */
  readonly why?: ComponentChildren
  /** Notices after an act, by its name. */
  readonly says?: Readonly<Record<string, string>>
  readonly acts: A
  /** All data that the page shows. They are the facts of its ETag. */
  read(visit: PageContext, home: H): Promise<R>
  view(read: R, ui: Ui<A>, home: H): ComponentChildren
}

interface Outside {
  readonly trouble?: Trouble
  /** The element that the act returned. */
  readonly made?: VNode
}

/** Returns the functions that show a page of settings and take its forms. */
export function settings<H, R, A extends Readonly<Record<string, Act>>>(scene: Scene<H, R, A>) {
  return {
    show: (visit: PageContext) => scenePage(scene, visit, {}),
    take: (visit: PageContext) => takeForm(scene, visit),
  }
}

async function takeForm<H, R, A>(scene: Scene<H, R, A>, visit: PageContext): Promise<PageResult> {
  const name = field(visit.form, 'act')
  const { controls, run } = actOf(scene.acts, name)
  let outcome: unknown
  try {
    outcome = await run(visit, readBody(controls, visit.form))
  } catch (error) {
    return showFormErrors(atProof(error, controls), (trouble) => scenePage(scene, visit, { trouble }))
  }
  if (isValidElement(outcome)) return scenePage(scene, visit, { made: outcome })
  if (isPage(outcome)) return outcome
  const itself = scene.says?.[name] === undefined ? pathOf(visit) : `${pathOf(visit)}?saved=${name}`
  return redirect(303, typeof outcome === 'string' ? outcome : itself)
}

function isPage(outcome: unknown): outcome is Page {
  return typeof outcome === 'object' && outcome !== null && 'kind' in outcome && outcome.kind === 'page'
}

function actOf(acts: unknown, name: string): Act {
  const known = acts as Readonly<Record<string, Act>> // the type of scenes says so
  const found = Object.hasOwn(known, name) ? known[name] : undefined
  if (found === undefined) throw new AppError('bad_request', 'The form does not name a known action')
  return found
}

/** Returns the error of a wrong password at its control. */
function atProof(error: unknown, controls: Controls): unknown {
  const proof = Object.entries(controls).find(([, { isProof }]) => isProof)
  if (proof === undefined || !(error instanceof AppError) || error.code !== 'invalid_credentials') return error
  return invalid(['body', proof[0]], 'This is not your current password')
}

function pathOf({ here }: PageContext): string {
  return here.split('?', 1)[0] ?? ''
}

async function scenePage<H, R, A>(scene: Scene<H, R, A>, visit: PageContext, outside: Outside): Promise<Page> {
  const { frame, says = {}, acts, why } = scene
  const home = await frame.read(visit)
  const { of, org, above, tabs, crumb, closed } = frame.draw(visit, home)
  const { title, facts, content } = closed
    ? { title: String(scene.title), facts: undefined, content: () => closed }
    : await contentOf(scene, visit, home, outside.trouble)
  const [sent, saved] = [visit.form.get('act'), visit.query.get('saved') ?? '']
  const notice = sent === null && Object.hasOwn(says, saved) ? says[saved] : undefined
  const fields = sent === null ? [] : shownFields(actOf(acts, sent))
  return {
    ...{ kind: 'page', place: { crumb: crumb ?? title, ...(org && { org }) }, facts: [home, facts] },
    head: { title: `${title} · ${of}`, noIndex: true },
    body: () => (
      <>
        {above}
        <main id="main" class={tabs ? 'page settings' : 'sheet'}>
          <h1>{title}</h1>
          {tabs}
          {notice !== undefined && <Notice>{notice}</Notice>}
          {outside.made}
          <TroubleOf trouble={outside.trouble} fields={fields} />
          {why && <p class="why">{why}</p>}
          {content()}
        </main>
      </>
    ),
  }
}

async function contentOf<H, R, A>(
  { title, read, acts, view }: Scene<H, R, A>,
  visit: PageContext,
  home: H,
  trouble: Trouble | undefined,
) {
  const facts = await read(visit, home)
  return {
    ...{ facts, title: typeof title === 'string' ? title : title(facts) },
    content: () => view(facts, uiOf(acts, visit, trouble), home),
  }
}

function uiOf<A>(acts: A, visit: PageContext, trouble: Trouble | undefined): Ui<A> {
  const action = pathOf(visit)
  return {
    ...{ visit, action },
    form: (name, fill = {}) => <ActForm {...{ name, fill, visit, trouble }} act={actOf(acts, name)} />,
    ask: (name, question, fill = {}) => {
      const one = actOf(acts, name)
      const { of } = fill
      const isStop = one.look === 'stop' && of === undefined
      return (
        <details open={shownFields(one).length > 0 && trouble !== undefined && isSent(one, name, fill, visit)}>
          <summary class={isStop ? 'btn stop' : 'btn'} {...(of && { 'aria-label': `${one.label} ${of}…` })}>
            {one.label}…
          </summary>
          <ActForm {...{ name, fill, visit, trouble, question }} act={one} />
        </details>
      )
    },
  }
}

/** Returns the names of the controls that show their errors. */
function shownFields({ controls }: Act): string[] {
  return Object.keys(controls).filter((key) => !controls[key]?.isHidden)
}

/** True if this form was sent. Forms of one act differ in their hidden controls. */
function isSent({ controls }: Act, name: string, { values = {} }: Fill<Controls>, { form }: PageContext): boolean {
  const hidden = Object.entries(controls).filter(([, { isHidden }]) => isHidden)
  return form.get('act') === name && hidden.every(([key]) => form.get(key) === values[key])
}

interface FormProps {
  readonly name: string
  readonly act: Act
  readonly fill: Fill<Controls>
  readonly visit: PageContext
  readonly trouble: Trouble | undefined
  readonly question?: ComponentChildren
}

function ActForm({ name, act, fill, visit, trouble, question }: FormProps) {
  const { values = {}, options = {}, without = [], at, of } = fill
  const isAgain = trouble !== undefined && isSent(act, name, fill, visit)
  const controls = Object.entries(act.controls).filter(([key]) => !without.includes(key))
  const isFilled = controls.some(([, { isHidden }]) => !isHidden)
  const look = act.look ?? (isFilled ? 'go' : 'plain')
  const prefix = [name, ...controls.flatMap(([key, { isHidden }]) => (isHidden ? [values[key]] : []))].join('-')
  const isNamed = of !== undefined && question === undefined
  const drawn = controls.map(([key, control]) => {
    const written = values[key] === undefined ? control.start : control.write(values[key])
    const texts = isAgain ? visit.form.getAll(key) : written
    const shown = { name: key, texts, of: prefix, trouble: isAgain ? trouble : undefined }
    return {
      isMore: control.isMore === true,
      // Nothing that was changed, or is wrong, is folded.
      isOpen: String(texts) !== String(control.start) || shown.trouble?.field === key,
      control: control.draw({ ...shown, ...(options[key] && { options: options[key] }) }),
    }
  })
  return (
    <form
      method="post"
      action={at === undefined ? pathOf(visit) : `${pathOf(visit)}#${at}`}
      {...((question || isFilled) && { class: isFilled ? 'fields' : 'ask' })}
    >
      {question && <p>{question}</p>}
      {drawn.map(({ isMore, control }) => !isMore && control)}
      {drawn.some(({ isMore }) => isMore) && (
        <More isOpen={drawn.some(({ isMore, isOpen }) => isMore && isOpen)}>
          {drawn.map(({ isMore, control }) => isMore && control)}
        </More>
      )}
      <button
        class={look === 'plain' ? 'btn' : `btn ${look}`}
        {...{ type: 'submit', name: 'act', value: name }}
        {...(isNamed && { 'aria-label': `${act.label} ${of}` })}
      >
        {act.label}
        {question && of && ` ${of}`}
      </button>
    </form>
  )
}
