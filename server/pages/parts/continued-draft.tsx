/** The draft that the editor continues: `?draft=` of its page. */

import { ValidationError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { codeOf } from '../error-codes.ts'
import { type PageContext, type PageResult, param } from '../page-context.ts'
import { type Panel, panelIn, panelKey } from '../properties.ts'
import type { Written } from './editor-form.tsx'

export type ContinuedDraft = AnswerOf<'getDraft'>

/**
 * Reads the draft of the query. Undefined: there is none, it was saved or discarded, or it is of another page.
 *
 * @param nodeId the page that is edited. Absent: a new one
 */
export async function readContinued(visit: PageContext, nodeId?: string): Promise<ContinuedDraft | undefined> {
  const draft_id = visit.query.get('draft')
  if (!draft_id) return undefined
  const path = { org_id: param(visit, 'org'), draft_id }
  const draft = await visit.api.getDraft({ path }).catch((error: unknown) => {
    if (codeOf(error) !== 'draft_not_found' && !(error instanceof ValidationError)) throw error
  })
  return draft?.is_new === (nodeId === undefined) && (draft.is_new || draft.node_id === nodeId) ? draft : undefined
}

/** Returns the fields of the form. `base`: tags and properties where the draft began. */
export function writtenOf({ title, text_content: text, message, form }: ContinuedDraft, base: Panel): Written {
  return { title, text, message, panel: panelIn(new URLSearchParams(form)) ?? base, panelBase: panelKey(base) }
}

/** Returns what the script needs to know of the draft. */
export function dataOfDraft(draft: ContinuedDraft | undefined): Record<string, string> {
  return draft === undefined ? {} : { 'data-draft-id': draft.id, 'data-draft-version': draft.version }
}

/** The text where the draft began, for the script. */
export function BeginText({ text }: { readonly text: string }) {
  // HTML parsers drop a newline at the start of a textarea.
  return <textarea hidden data-theirs>{`\n${text}`}</textarea>
}

/** Discards the draft of a form that has led to another page. A failure leaves the draft. */
export async function discardContinued(visit: PageContext, result: PageResult): Promise<PageResult> {
  const draft_id = visit.form.get('draft')
  if (result.kind === 'redirect' && draft_id)
    await visit.api.deleteDraft({ path: { org_id: param(visit, 'org'), draft_id } }).catch(() => {})
  return result
}
