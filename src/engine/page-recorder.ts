/**
 * The end of a URL that was fetched: its verdict, its WARC records, its finds, its row, its line and its counts.
 *
 * Invariant: every answer recorded here leaves one page row and one line, whatever its outcome. The verdict comes before the body is stored, so
 * that a copy becomes a revisit record; finds are routed before the row is made, so that its line can tell what became of them.
 */
import { counted } from '../core/counted.ts';
import { OUTCOME_CODES, type OutcomeCode, type RejectReason } from '../core/reasons.ts';
import type { QueueEntry } from '../core/records.ts';
import type { EpochMs } from '../core/time.ts';
import { contentHash } from '../dedup/exact.ts';
import { exactEligible } from '../dedup/policy.ts';
import type { ExchangeResult } from '../fetch/exchange.ts';
import type { HeaderList } from '../fetch/headers.ts';
import type { Frontier, HostMemory } from '../frontier/frontier.ts';
import { styleSheetAssets } from '../parse/handlers.ts';
import { mediaTypeOf } from '../parse/media-type.ts';
import { NO_UNITS, type ParsedPage } from '../parse/page.ts';
import { withRefreshHeader } from '../parse/refresh-header.ts';
import { parseRobotsTags } from '../robots/page-rules.ts';
import type { SplitUrl } from '../url/index.ts';
import { bump, type Totals } from './accounting.ts';
import type { ContentDesk, ContentVerdict } from './content-desk.ts';
import type { Delivery } from './delivery.ts';
import { pageItem } from './delivery-items.ts';
import { isWantedType } from './exchanges.ts';
import type { FindRouter, LinkTally } from './find-router.ts';
import { type PageFindings, pageLineOf, pageRowOf, type StoredBody } from './page-rows.ts';
import type { ShardEnv } from './shard-env.ts';
import type { ShardOutput } from './shard-output.ts';
import type { ShardState } from './shard-state.ts';
import type { Unwritten } from './unwritten.ts';

/** Every so many pages a host is looked at; with this share of near-duplicates it is set aside. */
const COPIES_WINDOW = 100;
const COPIES_SHARE = 0.9;
/** Bytes that are looked at for a media type when the server names none. */
const SNIFF_BYTES = 512;

/** The last answer for one URL: no other attempt follows. */
export interface Answer {
  readonly memory: HostMemory;
  readonly entry: QueueEntry;
  readonly parts: SplitUrl;
  readonly url: string;
  /** Of the request, secrets masked. */
  readonly headers: HeaderList;
  readonly result: ExchangeResult;
  readonly now: EpochMs;
}

export class PageRecorder {
  readonly #env: ShardEnv;
  readonly #router: FindRouter;
  readonly #frontier: Frontier;
  readonly #totals: Totals;
  readonly #content: ContentDesk;
  readonly #output: ShardOutput;
  readonly #delivery: Delivery;
  readonly #unwritten: Unwritten;
  /** Names whose meta robots count. */
  readonly #robotsNames: readonly string[];

  constructor(
    env: ShardEnv,
    state: Pick<ShardState, 'frontier' | 'totals' | 'content' | 'output' | 'delivery' | 'unwritten'>,
    router: FindRouter,
  ) {
    this.#env = env;
    this.#router = router;
    this.#frontier = state.frontier;
    this.#totals = state.totals;
    this.#content = state.content;
    this.#output = state.output;
    this.#delivery = state.delivery;
    this.#unwritten = state.unwritten;
    this.#robotsNames = ['robots', env.context.config.agent.token.toLowerCase()];
  }

  /** An answer with a body that counts as a success. Returns the outcome that is recorded. */
  page(answer: Answer): OutcomeCode {
    const { memory, entry, url, result, now } = answer;
    const { config, rules } = this.#env.context;
    const { body, outcome } = result;
    const media = mediaTypeOf(result.contentType, body.subarray(0, SNIFF_BYTES));
    const isAsset = entry.kind === 'asset';
    if (media.sniffed && !isAsset && !isWantedType(config.fetch.accept, media.type)) {
      return this.other(answer, 'unwanted-type', '', undefined);
    }
    // An asset has no links, whatever it is.
    const parsed = isAsset ? undefined : this.#parse(result, media.type);
    const page = withRefreshHeader(parsed, url, result.headers.first('refresh'), config.fetch.maxLinks);
    const tags = parseRobotsTags(
      [...result.headers.all('x-robots-tag'), ...(page?.metaRobots ?? []).map((meta) => meta.content)],
      config.agent.token,
    );
    const hash = contentHash(body);
    const mainText = page?.mainText ?? NO_UNITS;
    const verdict = this.#content.judge({ url, status: result.status, outcome, bodyBytes: body.length, hash, mainText });
    const skip = isNear(verdict) && rules.skipNearDuplicates;
    this.#countVerdict(memory, verdict, page);
    const stored = skip ? undefined : this.#appendWarc(answer, verdict, hash);
    if (verdict.kind === '' && exactEligible({ status: result.status, outcome, bodyBytes: body.length })) {
      this.#content.add({ hash, url, fetchedAtMs: result.startedAtEpoch, payloadSha1: stored?.payloadSha1 ?? '' }, verdict);
    }
    const reason: RejectReason | undefined = tags.nofollow ? 'nofollow' : skip ? 'near-duplicate' : undefined;
    const links = page === undefined ? undefined : this.#router.page(url, entry.depth, page, reason, now);
    const tally = config.scope.assets && !skip ? this.#routeAssets(answer, media.type, page, links) : links;
    memory.record.cyclePages++;
    this.#totals.bodyBytes += body.length;
    this.#record(answer, outcome, page, {
      hash,
      verdict,
      stored,
      tally,
      title: page?.title ?? '',
      canonical: page?.canonicalHref,
      redirectTo: '',
      robots: (['noindex', 'nofollow', 'noarchive'] as const).filter((word) => tags[word]),
      text: config.output.text ? page?.text : undefined,
    });
    return outcome;
  }

  /** An answer without a body that counts, or none at all. `outcome` may know better than the result. */
  other(answer: Answer, outcome: OutcomeCode, redirectTo: string, tally: LinkTally | undefined): OutcomeCode {
    const stored = outcome === 'unwanted-type' ? undefined : this.#appendWarc(answer, undefined, undefined);
    this.#record(answer, outcome, undefined, {
      hash: undefined,
      verdict: undefined,
      stored,
      tally,
      title: '',
      canonical: undefined,
      redirectTo,
      robots: [],
      text: undefined,
    });
    return outcome;
  }

  /** Of a page, and of a style sheet that a page is shown with. */
  #routeAssets(answer: Answer, mediaType: string, page: ParsedPage | undefined, tally: LinkTally | undefined): LinkTally | undefined {
    const { entry, url, result, now } = answer;
    if (entry.kind !== 'asset')
      return page?.assets === undefined ? tally : this.#router.assets(url, page.baseHref, 1, page.assets, now, tally);
    if (mediaType !== 'text/css') return tally;
    const assets = styleSheetAssets(result.body, result.contentType, this.#env.context.config.fetch.maxLinks);
    return this.#router.assets(url, undefined, entry.depth + 1, assets, now, tally);
  }

  #parse(result: ExchangeResult, mediaType: string): ParsedPage | undefined {
    const { config, handlers } = this.#env.context;
    const { plan } = this.#delivery;
    return handlers.find(mediaType)?.handle({
      bytes: result.body,
      contentTypeHeader: result.contentType,
      mediaType,
      options: {
        maxLinks: config.fetch.maxLinks,
        text: config.output.text || plan?.text === true ? 'both' : 'main',
        robotsNames: this.#robotsNames,
        anchorText: plan?.links === true,
        assets: config.scope.assets,
      },
    });
  }

  #countVerdict(memory: HostMemory, verdict: ContentVerdict, page: ParsedPage | undefined): void {
    if (verdict.kind === 'exact') this.#totals.exactDuplicates++;
    if (page === undefined) return;
    memory.record.judged++;
    if (isNear(verdict)) {
      this.#totals.nearDuplicates++;
      memory.record.nearDuplicates++;
    }
    this.#setAsideForCopies(memory);
  }

  /** A host that gives little but near-duplicates (F4) is demoted by the frontier first, and from here on set aside for a while after every so many pages. */
  #setAsideForCopies(memory: HostMemory): void {
    const { record } = memory;
    const { id, context, events } = this.#env;
    if (!context.rules.skipNearDuplicates || record.judged % COPIES_WINDOW !== 0) return;
    if (record.nearDuplicates < COPIES_SHARE * record.judged) return;
    record.waitUntilMs = context.clock.nowEpochMs() + context.config.politeness.setAside;
    record.gapRule = 'set-aside';
    this.#frontier.touch(memory);
    context.metrics.count('portolan_hosts_set_aside_for_copies_total');
    events.notice(id, `${record.key} is set aside: ${record.nearDuplicates} of its ${counted(record.judged, 'page')} are near-duplicates`);
  }

  #appendWarc(answer: Answer, verdict: ContentVerdict | undefined, hash: Buffer | undefined): StoredBody | undefined {
    const { url, parts, headers, result } = answer;
    if (!this.#output.storesBodies || result.status === 0) return undefined;
    const { original } = verdict ?? {};
    const { at, encoded } = this.#output.appendExchange({
      url,
      dateMs: result.startedAtEpoch,
      address: result.remoteAddress === '' ? undefined : result.remoteAddress,
      request: { method: 'GET', path: parts.pathQuery, host: parts.hostKey, headers },
      response: {
        status: result.status,
        statusText: result.statusText,
        rawHeaders: result.rawHeaders,
        body: [result.wireBody],
        truncated: result.truncated,
        payloadSha256: hash !== undefined && result.body === result.wireBody ? `sha256:${hash.toString('hex')}` : undefined,
      },
      original:
        verdict?.kind === 'exact' && original !== undefined && original.payloadSha1 !== ''
          ? { url: original.url, dateMs: original.fetchedAtMs, payloadSha1: original.payloadSha1 }
          : undefined,
    });
    this.#totals.storedPages++;
    return { segment: at.segment, offset: at.offset, length: encoded.responseBytes, payloadSha1: encoded.payloadSha1 };
  }

  #record(answer: Answer, outcome: OutcomeCode, page: ParsedPage | undefined, findings: PageFindings): void {
    answer.memory.record.fetched++;
    bump(this.#totals.fetched, outcome);
    this.#unwritten.addPage(pageRowOf(answer, outcome, findings));
    const line = pageLineOf(answer, outcome, OUTCOME_CODES[outcome], findings);
    this.#output.appendPage(line);
    const { plan } = this.#delivery;
    if (plan?.pages === true) {
      const { body, rawHeaders } = answer.result;
      this.#delivery.add(pageItem(plan, line, page, rawHeaders), plan.body && OUTCOME_CODES[outcome] === 'success' ? body : undefined);
    }
    this.#unwritten.mark();
  }
}

function isNear(verdict: ContentVerdict): boolean {
  return verdict.kind === 'near' || verdict.kind === 'text';
}
