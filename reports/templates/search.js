// Search over claims by words: what is typed has to begin words of a claim, so "muP" finds muP and not warmup.
"use strict";

(() => {
  // Words for the same thing: whoever types one of a line finds all of them. Every word of a line is found by itself, too, so
  // a common word ("step size") has no place here.
  const SYNONYMS = [
    ["learning rate", "lr", "η"],
    ["mup", "mu parametrization", "mu parameterization", "maximal update parametrization"],
    ["schedule", "scheduler", "scheduling", "annealing"],
    ["warmup", "warm up", "ramp"],
    ["warmup stable decay", "wsd", "trapezoid", "trapezoidal"],
    ["range test", "lr finder", "learning rate finder"],
    ["batch size", "batch", "b"],
    ["critical batch size", "b_crit", "bcrit"],
    ["bf16", "bfloat16"], ["fp16", "half precision", "float16"], ["fp32", "single precision", "float32"], ["fp8", "float8"],
    ["mixed precision", "bf16", "fp16"],
    ["weight decay", "wd", "l2"],
    ["gradient descent", "gd"],
    ["reducelronplateau", "reduce on plateau", "plateau"],
    ["clip", "clipping", "gradient clipping"],
    ["diverges", "divergence", "nan", "explodes"],
    ["sqrt", "square root", "√"],
    ["sharpness", "hessian", "curvature", "λmax"],
    ["checkpointing", "recomputation", "rematerialization"],
    ["accumulation", "micro batches", "gradient accumulation"],
    ["parametrization", "parameterization"], ["regularization", "regularisation"], ["generalize", "generalise", "generalization"],
  ];
  // Words of a question that say nothing of its subject; harness/use/reading/asked_claims.py leaves out the same.
  const STOP_WORDS = new Set((
    "a against an and any are as at be better can do does for from good have help helps how i if in is it less make "
    + "makes matter matters me more my need needed of on or should than that the there to up use versus vs was we "
    + "what when which why will with work works worse you"
  ).split(" "));
  // What is also found by a wider word: cosine is a schedule.
  const WIDER = {
    schedule: ["cosine", "linear decay", "step decay", "decaying", "half the peak", "warmup stable decay", "final lr", "reducelronplateau"],
    optimizer: ["sgd", "adam", "adamw", "lion", "sophia", "lars", "lamb", "rmsprop"],
    precision: ["bf16", "fp16", "fp32", "fp8"],
    transformer: ["gpt", "transformers"],
  };

  function words(text) {
    const plain = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replaceAll("μ", "mu");
    return plain.match(/√|[\p{L}\d]+(?:[._]\d+)*/gu) ?? [];
  }

  const spaced = (text) => ` ${words(text).join(" ")} `;

  // Whether a phrase stands in words with spaces around each: whole words, but for an ending of the last (schedules).
  const holds = (text, phrase) => text.includes(spaced(phrase)) || text.includes(`${spaced(phrase).trimEnd()}s `);

  // All words by which a text is found: its own, and those of phrases that mean the same or more.
  function index(text) {
    const own = spaced(text);
    const wider = Object.keys(WIDER).filter((word) => WIDER[word].some((phrase) => holds(own, phrase)));
    const all = `${own}${wider.join(" ")} `;
    const same = SYNONYMS.filter((group) => group.some((phrase) => holds(all, phrase))).flat();
    return [...new Set([...words(text), ...wider, ...same.flatMap(words)])];
  }

  // Stop words alone stand for themselves: the first letters of a word may be one.
  function significant(text) {
    const rest = words(text).filter((word) => !STOP_WORDS.has(word));
    return rest.length ? rest : words(text);
  }

  // Whether every significant word asked for begins one of the words of an index.
  const matches = (found, asked) => significant(asked).every((word) => found.some((own) => own.startsWith(word)));

  window.folklore = Object.assign(window.folklore ?? {}, { search: { index, matches } });
})();
